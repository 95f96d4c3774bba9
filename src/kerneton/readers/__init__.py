"""One file a format: recordings from the files that sensors, suites and estimators write."""

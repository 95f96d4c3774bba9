"""The linear machine: solvers, Gram matrices, folds of subjects."""

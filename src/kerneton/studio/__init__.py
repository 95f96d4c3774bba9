"""The studio: a local page on which people collect, label, train, watch and share; everything is a
folder on disk.

`kerneton.studio.server` is the web server, `kerneton.studio.library` the folder, ``page`` the files
of the page.
"""

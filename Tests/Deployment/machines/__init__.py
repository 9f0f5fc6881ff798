"""Small machines for the tests: namespaces and root file systems of their own, gone when the test is."""

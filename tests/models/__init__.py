"""Models of what several routers do on one ledger, checked exhaustively by Spin."""

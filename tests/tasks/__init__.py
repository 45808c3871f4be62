"""Thirty tasks of somebody who runs a router, and the steps that each of them takes."""

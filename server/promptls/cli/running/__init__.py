"""Runs on the command line: confirmation, progress and final report."""

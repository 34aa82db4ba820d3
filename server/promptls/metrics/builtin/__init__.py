"""The built-in metrics, one per module. Module docstrings are documentation pages whose tables are tested."""

"""Real clusters on this machine, and what measurements and end-to-end tests do with them.

Importable with tools/ on the path: `from bench.cluster import Cluster`. The programs beside it print what they measure.
"""

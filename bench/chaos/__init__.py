"""Chaos: clients write and read while nodes, Pods, processes and networks fail at random; then the verdict.

The random choices come from a seed (`schedule`), faults are carried out on the test cluster and always undone
(`inflict`), clients record when each operation was invoked, when it returned and how it ended (`clients`,
`history`), and afterwards the history is judged: it must be linearizable for each key (`linearizable`), no
acknowledged write may be lost, and the cluster must be available again soon after the last fault (`run`).
"""

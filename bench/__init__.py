"""Benchmarks: what the operator costs and how fast it is, beside a floor or a peer measured in the same run.

A number alone says little, since machines differ and drift. So each benchmark measures two things on the same
machine in turns (one, other, one, other, …) and its result is the ratio of their medians: to a *floor*, the
least that the work takes without an operator, or to a *peer*, another program that does the same.
"""

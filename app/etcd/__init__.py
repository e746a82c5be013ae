"""Speaking to etcd: who a member is, what it says, what may be asked of it, and how it is started.

Knows members and their membership, nothing of Kubernetes or of our resources. ``identity``, ``flags``,
``model`` and ``version`` are pure; ``client`` is the seam to the wire, ``pool`` and ``probe`` the wire
itself.
"""

"""A Ray cluster of two nodes on this machine, run as a script: the second one dies at the word of who started it.

Prints the cluster's address and the second node's id; a line on standard input kills that node, its end ends all.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster  # type: ignore[import-not-found]

if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    print(cluster.address, second.node_id, flush=True)  # noqa: T201
    for _ in sys.stdin:
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)  # noqa: T201
    cluster.shutdown()

#!/usr/bin/python3
"""client.py ADDRESS: a NodePool from its spec to its end."""
import sys
import uuid
import grpc
import muster
from muster.lifecycle.v1.lifecycle_service_pb2 import *
from muster.lifecycle.v1.lifecycle_service_pb2_grpc import LifecycleServiceStub
from muster.type.v1.watch_pb2 import WATCH_EVENT_TYPE_SNAPSHOT
NAME = "organizations/acme/clusters/example/nodePools/python"

def follow(done, pool=None):  # until it holds of the pool, None: it is gone; what is now comes first, so nothing is missed
    for message in stub.WatchLifecycle(WatchLifecycleRequest(name_prefix=NAME, kinds=["KIND_NODE_POOL"])):
        if message.key == NAME:  # a prefix may match others
            pool = message.node_pool if message.HasField("node_pool") else None
        if (pool or message.type != WATCH_EVENT_TYPE_SNAPSHOT) and done(pool):
            return pool

def healthy(pool):
    return pool and any(condition.type == "AtTarget" and condition.status == "True" and
                        condition.observed_generation == pool.generation for condition in pool.status.conditions)

def scale(nodes):
    request = ResizeNodePoolRequest(name=NAME, target_nodes=nodes, validate_only=True)
    quota = stub.ResizeNodePool(request).preview.quota
    if quota.reason == "Over":
        return print(f"over quota: {quota.limit} Nodes are allowed, {quota.held} taken")
    stub.ResizeNodePool(ResizeNodePoolRequest(name=NAME, target_nodes=nodes, request_id=str(uuid.uuid4())))

stub = LifecycleServiceStub(grpc.insecure_channel(sys.argv[1], options=muster.CHANNEL_OPTIONS))
stub.ApplyNodePool(ApplyNodePoolRequest(node_pool={"name": NAME, "spec": {"instance_type": "gd-8xa100-i128", "target_nodes": 2}}))
for nodes in (2, 5000, 200000, 3):
    try:
        scale(nodes)
        print(f"healthy: {follow(healthy).status.current_nodes} Nodes")
    except grpc.RpcError as error:
        print("refused:", error.code().name, *muster.error_details(error))
stub.DeleteNodePool(DeleteNodePoolRequest(name=NAME, request_id=str(uuid.uuid4())))
follow(lambda pool: not pool)
print("deleted")

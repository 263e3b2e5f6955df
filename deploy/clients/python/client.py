#!/usr/bin/python3
"""client.py ADDRESS: a NodePool from its spec to its end."""
import sys
import uuid
import grpc
import muster
from muster.lifecycle.v1.lifecycle_service_pb2 import *
from muster.lifecycle.v1.lifecycle_service_pb2_grpc import LifecycleServiceStub
NAME = "organizations/acme/clusters/example/nodePools/python"

def follow(pool, done):  # what came after an answer, until it holds of the pool; None: it is gone
    if done(pool):
        return pool
    for message in stub.WatchLifecycle(WatchLifecycleRequest(
            start={"after_revision": pool.revision}, name_prefix=NAME, kinds=["KIND_NODE_POOL"])):
        if message.key == NAME:
            pool = message.node_pool if message.HasField("node_pool") else None
            if done(pool):
                return pool

def ready(pool):
    return any(condition.type == "Ready" and condition.status == "True" for condition in pool.status.conditions)

stub = LifecycleServiceStub(grpc.insecure_channel(sys.argv[1], options=muster.CHANNEL_OPTIONS))
pool = stub.ApplyNodePool(ApplyNodePoolRequest(node_pool={"name": NAME, "spec": {"instance_type": "gd-8xa100-i128", "target_nodes": 2}}))
print(f"ready: {follow(pool, ready).status.current_nodes} Nodes")
for nodes in (5000, 200000, 3):
    try:
        pool = stub.ResizeNodePool(ResizeNodePoolRequest(
            name=NAME, target_nodes=nodes, must_fit=True, request_id=str(uuid.uuid4())))
        print(f"ready: {follow(pool, ready).status.current_nodes} Nodes")
    except grpc.RpcError as error:
        print("refused:", error.code().name, *muster.error_details(error))
pool = stub.DeleteNodePool(DeleteNodePoolRequest(name=NAME, request_id=str(uuid.uuid4())))
follow(pool, lambda pool: not pool)
print("deleted")

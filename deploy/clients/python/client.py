#!/usr/bin/python3
"""client.py ADDRESS: a NodePool from its spec to its end."""
import sys, time, uuid
import grpc
import muster
from muster.lifecycle.v1.lifecycle_service_pb2 import *
from muster.lifecycle.v1.lifecycle_service_pb2_grpc import LifecycleServiceStub
from muster.type.v1.watch_pb2 import WatchStart
NAME = "organizations/acme/clusters/example/nodePools/python"

def states(revision):  # of the pool after that revision; None: it is gone. A stream that broke goes on after its last revision
    request = WatchLifecycleRequest(start={"after_revision": revision}, name_prefix=NAME, kinds=["KIND_NODE_POOL"])
    while True:
        try:
            for message in stub.WatchLifecycle(request):
                request.start.MergeFrom(WatchStart(after_revision=message.revision, incarnation=message.incarnation, view=message.view))
                if message.key == NAME:
                    yield message.node_pool if message.HasField("node_pool") else None
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
            time.sleep(1)

def follow(pool, done):  # from an answer on, until it holds of the pool
    return pool if done(pool) else next(filter(done, states(pool.revision)))

def ready(pool):
    return any(condition.type == "Ready" and condition.status == "True" for condition in pool.status.conditions)

stub = LifecycleServiceStub(grpc.insecure_channel(sys.argv[1], options=muster.CHANNEL_OPTIONS))
pool = stub.ApplyNodePool(ApplyNodePoolRequest(node_pool={"name": NAME, "spec": {"instance_type": "gd-8xa100-i128", "target_nodes": 2}}))
print(f"ready: {follow(pool, ready).status.current_nodes} Nodes")
for nodes in (5000, 200000, 3):
    try:
        pool = stub.ResizeNodePool(ResizeNodePoolRequest(name=NAME, target_nodes=nodes, must_fit=True, request_id=str(uuid.uuid4())))
        print(f"ready: {follow(pool, ready).status.current_nodes} Nodes")
    except grpc.RpcError as error:
        print("refused:", error.code().name, *muster.error_details(error))
follow(stub.DeleteNodePool(DeleteNodePoolRequest(name=NAME, request_id=str(uuid.uuid4()))), lambda pool: not pool)
print("deleted")

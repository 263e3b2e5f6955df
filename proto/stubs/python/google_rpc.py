"""google/rpc: that of googleapis-common-protos where it is installed, else the one that comes with this package."""
try:
    from google.rpc import code_pb2, error_details_pb2, status_pb2
except ImportError:
    from muster.google_rpc_bundled import code_pb2, error_details_pb2, status_pb2

__all__ = ["code_pb2", "error_details_pb2", "status_pb2"]

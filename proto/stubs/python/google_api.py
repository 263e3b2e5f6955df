"""google/api: that of googleapis-common-protos where it is installed, else the one that comes with this package."""
try:
    from google.api import annotations_pb2, field_behavior_pb2, http_pb2, resource_pb2
except ImportError:
    from muster.google_api_bundled import annotations_pb2, field_behavior_pb2, http_pb2, resource_pb2

__all__ = ["annotations_pb2", "field_behavior_pb2", "http_pb2", "resource_pb2"]

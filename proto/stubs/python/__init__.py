"""Stubs of Muster's API: muster.<domain>.v1.<domain>_service_pb2_grpc and its messages, and what a client needs beside them."""
import pkgutil

# How Muster is to be called: channel option `grpc.service_config`.
SERVICE_CONFIG = pkgutil.get_data(__name__, "service_config.json").decode()
CHANNEL_OPTIONS = [("grpc.service_config", SERVICE_CONFIG)]


def error_details(error):
    """The details of a grpc.RpcError, or of a google.rpc.Status, as messages of google/rpc: [ErrorInfo, BadRequest, ...]."""
    from muster.google_rpc import error_details_pb2, status_pb2

    if hasattr(error, "trailing_metadata"):
        metadata = dict(error.trailing_metadata() or ())
        error = status_pb2.Status.FromString(metadata.get("grpc-status-details-bin", b""))
    details = []
    for packed in error.details:
        name = packed.TypeName().rpartition(".")[2]
        if packed.TypeName() == f"google.rpc.{name}" and hasattr(error_details_pb2, name):
            detail = getattr(error_details_pb2, name)()
            packed.Unpack(detail)
            details.append(detail)
    return details

#!/usr/bin/python3
"""make_wheel.py --version=V --googleapis=DIR WHEEL: the API's stubs for Python as a wheel, the same bytes for the same protos.

The package `muster` has the stubs, google/rpc as `muster.google_rpc` and google/api as `muster.google_api`: the user's own
(googleapis-common-protos) where they are installed, else ours. So nothing lands in the package `google`, and no message is registered
twice.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent
METADATA = """Metadata-Version: 2.1
Name: muster-api
Version: {version}
Summary: Stubs of Muster's API
Requires-Python: >=3.9
Requires-Dist: grpcio>=1.51
Requires-Dist: protobuf>=3.20.2

{readme}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def generate(out, googleapis):
    protos = sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("muster/**/*.proto"))
    imported = sorted(str(path.relative_to(googleapis)) for path in googleapis.glob("google/**/*.proto"))
    command = ["protoc", f"-I{PROTO}", f"-I{googleapis}", f"--python_out={out}", f"--pyi_out={out}"]
    subprocess.run(command + protos + imported, check=True)
    services = [proto for proto in protos if proto.endswith("_service.proto")]
    subprocess.run(["protoc", f"-I{PROTO}", f"-I{googleapis}", f"--grpc_python_out={out}",
                    "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin"] + services, check=True)


def arrange(out):
    """google/rpc and google/api move below muster, and whoever imports them from there finds them through muster.google_rpc and
    muster.google_api; but what is bundled is of one piece."""
    for name in ["rpc", "api"]:
        (out / "google" / name).rename(out / f"muster/google_{name}_bundled")
    (out / "google").rmdir()
    for path in list(out.glob("muster/**/*.py")) + list(out.glob("muster/**/*.pyi")):
        text = path.read_text()
        to = r"from muster.google_\1_bundled import" if path.parent.name.endswith("_bundled") else r"from muster.google_\1 import"
        path.write_text(re.sub(r"^from google\.(rpc|api) import", to, text, flags=re.MULTILINE))
    for source in HERE.glob("python/*.py"):
        (out / "muster" / source.name).write_text(source.read_text())
    (out / "muster/py.typed").write_text("")
    (out / "muster/service_config.json").write_text((PROTO / "muster/service_config.json").read_text())
    for folder in [path for path in out.glob("muster/**/") if not (path / "__init__.py").exists()]:
        (folder / "__init__.py").write_text("")


def pack(out, wheel, version):
    info = f"muster_api-{version}.dist-info"
    files = {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("muster/**/*")) if path.is_file()}
    readme = (HERE / "python/README.md").read_text()
    files[f"{info}/METADATA"] = METADATA.format(version=version, readme=readme).encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel.parent.mkdir(parents=True, exist_ok=True)
    for old in wheel.parent.glob("muster_api-*.whl"):
        old.unlink()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980: the same bytes every time
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--googleapis", type=pathlib.Path, required=True)
    parser.add_argument("wheel", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        generate(out, options.googleapis)
        arrange(out)
        pack(out, options.wheel, options.version)


if __name__ == "__main__":
    main()

"""packing.py: reads what musterd packed (storage/postgres/journal_packing.h)."""
import codecs
import ctypes
import re

MAGIC = b"\x28\xb5\x2f\xfd"


class Packing:
    """By the dictionary of a tree."""

    def __init__(self, tree):
        self.zstd = ctypes.CDLL("libzstd.so.1")
        self.zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
        self.zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
        self.zstd.ZSTD_decompress_usingDict.restype = ctypes.c_size_t
        self.context = ctypes.c_void_p(self.zstd.ZSTD_createDCtx())
        with open(f"{tree}/storage/postgres/packing_dictionary.cc") as source:
            words = re.findall(r'^    "(.*)";?$', source.read(), re.MULTILINE)
        self.dictionary = b"".join(codecs.escape_decode(word)[0] for word in words)

    def unpack(self, stored):
        """The message without its key; `stored`, if that is not packed."""
        if stored[:1] != b"\x07":
            return stored
        frame = MAGIC + stored[2:]
        size = self.zstd.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame)))
        message = ctypes.create_string_buffer(size)
        took = self.zstd.ZSTD_decompress_usingDict(self.context, message, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)),
                                                   self.dictionary, ctypes.c_size_t(len(self.dictionary)))
        if took != size:
            raise ValueError(f"{stored.hex()} cannot be unpacked")
        return message.raw

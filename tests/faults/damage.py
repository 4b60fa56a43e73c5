"""Writes into the shared memory of a job what the job did not write (docs/lanes.md)."""

import mmap
import struct

FIRST_LANE = 40  # the place of SegmentHeader::first_lane
LANE = struct.Struct("<Q12xIQ")  # next, ring_capacity, ring
EVENT_BYTES = 64


def overwrite_rings(path, chance):
    """Random bytes into all rings of a segment."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as segment:
        [lane] = struct.unpack_from("<Q", segment, FIRST_LANE)
        while lane:
            following, capacity, ring = LANE.unpack_from(segment, lane)
            segment[ring:ring + capacity * EVENT_BYTES] = chance.randbytes(capacity * EVENT_BYTES)
            lane = following

"""Values for the write experiments, as files: text that lz4 compresses about four to one."""

import random

# Pieces that repeat, and how many letters that do not stand between two of them. The shares make
# the ratio, which the page of the experiment tells as the broker's log has it.
VOCABULARY = 1024
FRESH = 12
KNOWN = 70
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -"


def write(path, size, values):
    """Writes `values` distinct values of `size` bytes, the same in every call."""
    chance = random.Random(7)
    vocabulary = bytes(chance.choices(LETTERS, k=VOCABULARY))
    text = bytearray()
    wanted = size * values
    while len(text) < wanted:
        length = chance.randrange(KNOWN // 2, KNOWN * 3 // 2)
        start = chance.randrange(VOCABULARY - length)
        text += vocabulary[start:start + length]
        text += bytes(chance.choices(LETTERS, k=FRESH))
    path.write_bytes(text[:wanted])

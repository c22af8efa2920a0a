"""Values for the write experiments, as files: text that lz4 compresses about four to one,
three to one for records of 100 bytes."""

import random

# Pieces of one text repeat, with some letters between them that do not. The shares make the ratio,
# for batches of 16 KiB, and small records carry more that is not text. The page of the experiment
# tells the ratio in the broker's log.
VOCABULARY = 600
FRESH = 12
KNOWN = {100: 110, 1024: 95}
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -"


def write(path, size, values):
    """Writes `values` distinct values of `size` bytes, the same in every call."""
    chance = random.Random(7)
    vocabulary = bytes(chance.choices(LETTERS, k=VOCABULARY))
    known = KNOWN[size]
    text = bytearray()
    wanted = size * values
    while len(text) < wanted:
        length = chance.randrange(known // 2, known * 3 // 2)
        start = chance.randrange(VOCABULARY - length)
        text += vocabulary[start:start + length]
        text += bytes(chance.choices(LETTERS, k=FRESH))
    path.write_bytes(text[:wanted])

"""What a broker answers to requests that are well-formed and ask for the impossible.

Every case only notes the answers; what counts is that two brokers give the same.
"""

import answers_admin
import answers_groups
import answers_records
from suite import CASES, check, main

if __name__ == "__main__":
    check(len(CASES) > 0, f"no cases in {answers_admin}, {answers_groups}, {answers_records}")
    # One after the other: some share names, as that of the group without a name.
    main("answers", parallel=1)

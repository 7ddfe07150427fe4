"""The operations of the networks, twice: in plain torch (the meaning) and in Triton (the speed)."""

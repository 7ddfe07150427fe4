"""Proofs that Coq checks: certificates of recurrent networks as Coq files, and what they stand on."""

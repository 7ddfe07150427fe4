(* The function check of Program.v as OCaml.  Whole numbers are those of zarith; the tables of which
   of its functions stands for which of Coq's are Coq's own, with four rows more for nat. *)
From Coq Require Import ZArith Arith Extraction ExtrOcamlBasic ExtrOcamlNatBigInt ExtrOcamlZBigInt ExtrOcamlString.
From Krohn Require Import Claims Program.
Extract Inlined Constant Nat.leb => "Big_int_Z.le_big_int".
Extract Inlined Constant Nat.ltb => "Big_int_Z.lt_big_int".
Extract Inlined Constant Z.leb => "Big_int_Z.le_big_int".
Extract Inlined Constant Z.ltb => "Big_int_Z.lt_big_int".
Extraction "checker.ml" check claimed line_of.
Print Assumptions check_is_right.

(* From stored bits to a Transformer: which tensor of the file goes where; numbers are rounded to binary32. No proofs here. *)
From Coq Require Import ZArith List String Bool.
From Flocq Require Import BinarySingleNaN.
From Krohn Require Import Network File Transformer.
Import ListNotations.
Open Scope Z_scope.

(* A compiled Transformer is stored in binary64 (64-bit words) and run in binary32: each number is rounded to nearest even. *)
Definition rounded (w : word) : f32 :=
  let minus := Z.testbit w 63 in let e := w / 2 ^ 52 mod 2048 in let m := w mod 2 ^ 52 in
  if e =? 2047 then (if m =? 0 then B754_infinity minus else B754_nan)
  else let '(m, e) := if e =? 0 then (m, -1074) else (m + 2 ^ 52, e - 1075) in literal (if minus then - m else m) e minus.
(* Channels, letters, padding positions, classes; for each layer the inner sizes (query, value) of its heads and the widths of its MLP. *)
Record tsizes := { TWidth : nat; TLetters : nat; TPadding : nat; TPositions : nat; TClasses : nat; TLayerSizes : list (list (nat * nat) * list nat) }.

Section Read.
Variables (z : tsizes) (ts : list (bool * tensor)).          (* true: 64-bit integers, else binary64 *)
Definition words_named (integers : bool) (name : string) (shape : list nat) : option (list word) :=
  match find (fun t => String.eqb (Name (snd t)) name) ts with
  | Some (i, t) => let w := words_of t in
      if Bool.eqb i integers && same_shape (Shape t) shape && Nat.eqb (List.length w) (size_of t) then Some w else None
  | None => None
  end.
Definition floats_named (name : string) (shape : list nat) : option vec := w <- words_named false name shape ;; Some (map rounded w).
Definition rows_named (name : string) (rows cols : nat) : option (list vec) := w <- floats_named name [rows; cols] ;; Some (pieces rows cols w).
Definition turned (cols : nat) (rows : list vec) : columns := fold_right (fun r t => map (fun p => fst p :: snd p) (combine r t)) (repeat [] cols) rows.
Definition columns_named (name : string) (rows cols : nat) : option columns := r <- rows_named name rows cols ;; Some (turned cols r).
Definition read_head (p : string) (inner : nat * nat) : option thead :=
  let d := TWidth z in
  q <- columns_named (p ++ "W_Q") d (fst inner) ;; k <- columns_named (p ++ "W_K") d (fst inner) ;;
  v <- columns_named (p ++ "W_V") d (snd inner) ;; c <- columns_named (p ++ "W_C") (snd inner) d ;;
  Some {| WQ := q; WK := k; WV := v; WC := c |}.
Definition numbered {A} (l : list A) : list (nat * A) := combine (seq 0 (List.length l)) l.
(* the MLP from width a through the widths l; hidden units must be rectified (their code is 0) *)
Fixpoint read_mlp (p : string) (i a : nat) (l : list nat) : option (list (columns * vec)) :=
  match l with
  | [] => Some []
  | b :: l =>
      w <- columns_named (p ++ decimal i ++ ".W") a b ;; c <- floats_named (p ++ decimal i ++ ".b") [b] ;;
      codes <- match l with [] => Some [] | _ => words_named true (p ++ decimal i ++ ".activation") [b] end ;;
      if forallb (Z.eqb 0) codes then rest <- read_mlp p (S i) b l ;; Some ((w, c) :: rest) else None
  end.
Definition read_layer (il : nat * (list (nat * nat) * list nat)) : option tlayer :=
  let '(i, (heads, widths)) := il in let p := ("layers." ++ decimal i ++ ".")%string in
  hs <- mapM (fun ih => read_head (p ++ "heads." ++ decimal (fst ih) ++ ".") (snd ih)) (numbered heads) ;;
  a <- floats_named (p ++ "keep_attention") [TWidth z] ;; m <- floats_named (p ++ "keep_mlp") [TWidth z] ;;
  ws <- read_mlp (p ++ "mlp.") 0 (TWidth z) (widths ++ [TWidth z]) ;;
  Some {| Heads := hs; KeepAttention := a; Mlps := ws; KeepMlp := m |}.
Definition tensors_there : nat :=
  (5 + fold_right Nat.add 0 (map (fun l => 4 * List.length (fst l) + 2 + 3 * List.length (snd l) + 2) (TLayerSizes z)))%nat.
Definition transformer_of : option transformer :=
  if Nat.eqb (List.length ts) tensors_there then
    e <- rows_named "embedding" (TLetters z) (TWidth z) ;; p <- rows_named "padding" (TPadding z) (TWidth z) ;;
    c <- rows_named "positions" (TPositions z) (TWidth z) ;; ls <- mapM read_layer (numbered (TLayerSizes z)) ;;
    r <- columns_named "readout" (TWidth z) (TClasses z) ;; b <- floats_named "readout_bias" [TClasses z] ;;
    Some {| Tokens := e; Padding := p; Places := c; TLayers := ls; Unembed := (r, b) |}
  else None.
End Read.

(* The bytes of the file: as in File.v, with 8 bytes for each number, and integers first where they are stored first. *)
Fixpoint entries64 (begin : N) (ts : list (bool * tensor)) : list string :=
  match ts with
  | [] => []
  | (i, t) :: ts =>
      let stop := (begin + 8 * N.of_nat (size_of t))%N in
      let n z := DecimalString.NilEmpty.string_of_uint (N.to_uint z) in
      ("""" ++ Name t ++ """:{""dtype"":""" ++ (if i : bool then "I64" else "F64") ++ """,""shape"":[" ++ commas (map decimal (Shape t)) ++
       "],""data_offsets"":[" ++ n begin ++ "," ++ n stop ++ "]}")%string :: entries64 stop ts
  end.
Definition safetensors64 (ts : list (bool * tensor)) : list Z :=
  let h := text ("{" ++ commas (entries64 0 ts) ++ "}")%string in let h := h ++ spaces (List.length h) in
  little_endian 8 (Z.of_nat (List.length h)) ++ h ++ flat_map (fun t => flat_map (little_endian 8) (words_of (snd t))) ts.
Definition transformer_is_right (T : nat) (hash : Z) (z : tsizes) (ts : list (bool * tensor)) (d : automaton) : Prop :=
  sha256 (safetensors64 ts) = hash /\ exists tr, transformer_of z ts = Some tr /\ right_up_to T tr d.

(* To be read: which tensor of a file goes where in a Transformer, and the claim about a file.
   No proofs here. *)
From Krohn Require Export Tensors Transformer.
Import ListNotations.
Local Open Scope string_scope.
(* Channels, letters, padding positions, positions, classes; for each layer the inner sizes
   (query, value) of its heads and the widths of its MLP *)
Record tsizes := { TWidth : nat; TLetters : nat; TPadding : nat; TPositions : nat; TClasses : nat;
  TLayerSizes : list (list (nat * nat) * list nat) }.
Section Read.
Variables (z : tsizes) (ts : list tensor).
Notation d := (TWidth z).
Definition F64 (name : string) (shape : list nat) : label :=
  {| Name := name; Type_ := "F64"; Shape := shape |}.
(* numbers are stored in 64 bits and rounded to binary32 *)
Definition floats (name : string) : vec := map rounded (words_named ts name).
Definition rows (name : string) (r c : nat) : list vec := pieces r c (floats name).
Definition by_columns (name : string) (r c : nat) : matrix := columns c (rows name r c).
Definition numbered {A} (p : string) (l : list A) : list (string * A) :=
  combine (map (fun i => p ++ decimal i ++ ".") (seq 0 (List.length l))) l.
Definition head_labels (ph : string * (nat * nat)) : list label := let '(p, (k, v)) := ph in
  [F64 (p ++ "W_Q") [d; k]; F64 (p ++ "W_K") [d; k];
   F64 (p ++ "W_V") [d; v]; F64 (p ++ "W_C") [v; d]].
Definition read_head (ph : string * (nat * nat)) : thead := let '(p, (k, v)) := ph in
  {| WQ := by_columns (p ++ "W_Q") d k; WK := by_columns (p ++ "W_K") d k;
     WV := by_columns (p ++ "W_V") d v; WC := by_columns (p ++ "W_C") v d |}.
(* the matrices of an MLP from width a through the widths l; hidden units have a code for their
   activation *)
Fixpoint mlp_labels (p : string) (i a : nat) (l : list nat) : list label :=
  match l with [] => [] | b :: l => let q := p ++ decimal i in
    let code := {| Name := q ++ ".activation"; Type_ := "I64"; Shape := [b] |} in
    F64 (q ++ ".W") [a; b] :: F64 (q ++ ".b") [b] ::
    (match l with [] => [] | _ => [code] end ++ mlp_labels p (S i) b l)%list end.
Fixpoint read_mlp (p : string) (i a : nat) (l : list nat) : list (matrix * vec) :=
  match l with [] => [] | b :: l => let q := p ++ decimal i in
    (by_columns (q ++ ".W") a b, floats (q ++ ".b")) :: read_mlp p (S i) b l end.
Definition layer_labels (pl : string * (list (nat * nat) * list nat)) : list label :=
  let '(p, (heads, widths)) := pl in
  F64 (p ++ "keep_attention") [d] :: F64 (p ++ "keep_mlp") [d] ::
  app (flat_map head_labels (numbered (p ++ "heads.") heads))
      (mlp_labels (p ++ "mlp.") 0 d (widths ++ [d])%list).
Definition read_layer (pl : string * (list (nat * nat) * list nat)) : tlayer :=
  let '(p, (heads, widths)) := pl in
  {| Heads := map read_head (numbered (p ++ "heads.") heads);
     KeepAttention := floats (p ++ "keep_attention");
     Mlps := read_mlp (p ++ "mlp.") 0 d (widths ++ [d])%list;
     KeepMlp := floats (p ++ "keep_mlp") |}.
Definition transformer_labels : list label :=
  F64 "embedding" [TLetters z; d] :: F64 "padding" [TPadding z; d] ::
  F64 "positions" [TPositions z; d] :: F64 "readout" [d; TClasses z] ::
  F64 "readout_bias" [TClasses z] :: flat_map layer_labels (numbered "layers." (TLayerSizes z)).
Definition transformer_of : transformer := {|
  Tokens := rows "embedding" (TLetters z) d; Padding := rows "padding" (TPadding z) d;
  Places := rows "positions" (TPositions z) d;
  TLayers := map read_layer (numbered "layers." (TLayerSizes z));
  Unembed := (by_columns "readout" d (TClasses z), floats "readout_bias") |}.
(* the only activation is ReLU, whose code is 0 *)
Definition only_relu : Prop :=
  Forall (fun t => Type_ (Label t) = "I64" -> Forall (eq 0%Z) (words_of t)) ts.
End Read.
Definition transformer_line : string := "Transformer: causal".
Definition transformer_is_right (T : nat) (hash : Z) (names : list Z) (z : tsizes)
  (ts : list tensor) (d : automaton) : Prop :=
  is_file hash transformer_line names [] (transformer_labels z) ts /\ only_relu ts /\
  TLetters z = Letters d /\ right_up_to T (transformer_of z ts) d.

(* To be read: what a certificate may claim of a file.  No proofs here. *)
From Krohn Require Export Delta Diagonal TransformerFile.
From Krohn Require Lstm.
Import ListNotations.
Inductive kind := Heads (h s k v : nat) (rank_one : bool) | RealNumbers (signed : bool) (n : nat)
  |
  ComplexNumbers (n : nat).
Definition mixer_of_kind (k : kind) : mixer :=
  match k with
  | Heads h s k v r => delta h s k v r
  | RealNumbers signed n => diagonal signed n
  | ComplexNumbers n => complex_diagonal n
  end.
Inductive order := AnyOrder | LeftToRight.
Definition sums_in (o : order) : vector -> vector -> f32 -> Prop :=
  match o with AnyOrder => any_order | LeftToRight => one_order end.
Inductive claim :=
| TransformerUpTo (T : nat) (z : tsizes) (d : automaton)
| RecurrentInOrder (o : order) (k : kind) (z : sizes) (d : automaton)
| TrainedLstm (z : Lstm.lsizes) (d : automaton).
Definition is_right (hash : Z) (names : list Z) (c : claim) (ts : list tensor) : Prop :=
  match c with
  | TransformerUpTo T z d => transformer_is_right T hash names z ts d
  | RecurrentInOrder o k z d =>
      right_on_every_word letter_by_letter (sums_in o) hash names (mixer_of_kind k) z ts d
  | TrainedLstm z d => Lstm.lstm_is_right hash names z ts d
  end.
(* the line before the names, and what the file has before its tensors *)
Definition line_of (c : claim) : string :=
  match c with
  | TransformerUpTo _ _ _ => transformer_line
  | RecurrentInOrder _ k _ _ => Line (mixer_of_kind k)
  | TrainedLstm _ _ => "LSTM"
  end.
Definition first_of (c : claim) : list string :=
  match c with TrainedLstm _ _ => Lstm.run_mark | _ => [] end.

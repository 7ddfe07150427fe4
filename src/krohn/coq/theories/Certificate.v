(* What a certificate computes: one boolean, and the theorem that it is enough. *)
From Coq Require Import ZArith List Bool.
From Krohn Require Import Float32 Tensors Fits Network Closed Exact OneOrder Reading.
From Krohn Require Recurrent.
Import ListNotations.
Local Open Scope bool_scope.

Section Certificate.
Variables (sums_of : list f32 -> list f32 -> f32 -> Prop) (closed_in : network (list word) ->
  automaton -> list (list nat) -> bool).
Hypothesis sound : forall n d hints, closed_in n d hints = true -> answers_every_word sums_of n d.
Definition answers_right (k : kind) (z : Recurrent.sizes) (ts : list tensor) (d : automaton)
  (hints : list
  (list nat)) : bool :=
  has_tensors (Recurrent.labels (mixer_of_kind k) z) ts && Nat.eqb (Recurrent.LettersRead z)
    (Letters d) &&
    closed_in (network_of k z ts) d hints.
Lemma answers_right_ok hash names k z ts d hints : answers_right k z ts d hints = true ->
  sha256 (described (Recurrent.Line (mixer_of_kind k)) names [] ts) = hash ->
  Recurrent.right_on_every_word Recurrent.letter_by_letter sums_of hash names (mixer_of_kind k) z
    ts d.
Proof.
  unfold answers_right. intros H E. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1
    H2].
  destruct (sound _ _ _ H3) as [C A]. split; [now apply has_tensors_ok|]. split; [exact C|].
  split; [now apply Nat.eqb_eq|].
  intros s g t Hs Hg Ht D w a Hw. destruct (A s g t Hs Hg Ht w a Hw) as [[y Y] All]. split.
  - exists y. now apply l_logits.
  - intros y' Y'. apply All. now apply l_logits.
Qed.
End Certificate.

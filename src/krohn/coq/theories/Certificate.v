(* What a certificate computes: one boolean, and the theorem that it is enough. *)
From Coq Require Import ZArith List Bool.
From Krohn Require Import Float32 Tensors Fits Network Closed Exact OneOrder Reading.
From Krohn Require Recurrent.
Local Open Scope bool_scope.

Section Certificate.
Variables (sums_of : list f32 -> list f32 -> f32 -> Prop) (closed_in : network (list word) ->
  automaton -> list (list nat) -> bool).
Hypothesis sound : forall n d hints, closed_in n d hints = true -> answers_every_word sums_of n d.
Definition answers_right (k : kind) (z : R.sizes) (ts : list tensor) (d : automaton) (hints : list
  (list nat)) : bool :=
  has_tensors (R.labels (mixer_of_kind k) z) ts && Nat.eqb (R.LettersRead z) (Letters d) &&
    closed_in (network_of k z ts) d hints.
Definition checked (hash : Z) (k : kind) (z : R.sizes) (ts : list tensor) (d : automaton) (hints :
  list (list nat)) : bool :=
  file_fits hash (R.Line (mixer_of_kind k)) (R.labels (mixer_of_kind k) z) ts &&
    answers_right k z ts d hints.
Lemma checked_is_right hash k z ts d hints : checked hash k z ts d hints = true ->
  R.right_on_every_word R.letter_by_letter sums_of hash (mixer_of_kind k) z ts d.
Proof.
  unfold checked, answers_right. intros H. apply andb_prop in H as [H1 H].
  apply andb_prop in H as [H H3]. apply andb_prop in H as [_ H2].
  destruct (sound _ _ _ H3) as [C A]. split; [now apply file_fits_ok|]. split; [exact C|].
  split; [now apply Nat.eqb_eq|].
  intros s g t Hs Hg Ht D w a Hw. destruct (A s g t Hs Hg Ht w a Hw) as [[y Y] All]. split.
  - exists y. now apply l_logits.
  - intros y' Y'. apply All. now apply l_logits.
Qed.
End Certificate.

Definition checked_in_any_order := checked closed_in_any_order.
Definition checked_in_one_order := checked closed_in_one_order.
Theorem in_any_order hash k z ts d hints : checked_in_any_order hash k z ts d hints = true ->
  R.right_on_every_word R.letter_by_letter any_order hash (mixer_of_kind k) z ts d.
Proof. apply checked_is_right, any_order_right. Qed.
Theorem in_one_order hash k z ts d hints : checked_in_one_order hash k z ts d hints = true ->
  R.right_on_every_word R.letter_by_letter one_order hash (mixer_of_kind k) z ts d.
Proof. apply checked_is_right, one_order_right. Qed.

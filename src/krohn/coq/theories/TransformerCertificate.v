(* What the certificate of a Transformer computes: one boolean, and the theorem that it is enough.
   *)
From Coq Require Import ZArith List Bool.
From Krohn Require Import Float32 Network Tensors Fits Transformer TransformerFile Counting Layers
  Counted Scan.
Import ListNotations.
Local Open Scope bool_scope.

Definition all_relu (ts : list tensor) : bool := forallb (fun t => negb (String.eqb (Type_ (Label
  t)) "I64") || forallb (Z.eqb 0) (words_of t)) ts.
Lemma all_relu_ok ts : all_relu ts = true -> only_relu ts.
Proof.
  intros H. apply Forall_forall. intros t Ht E. unfold all_relu in H. rewrite forallb_forall in H.
  specialize (H t Ht).
  rewrite E in H. cbn in H. apply Forall_forall. intros w Hw. rewrite forallb_forall in H.
  now apply Z.eqb_eq, H.
Qed.
Section Certificate.
Context {hints : Type}.
Variable (right_in : nat -> transformer -> automaton -> hints -> bool).
Hypothesis sound : forall T tr d g, right_in T tr d g = true -> right_up_to T tr d.
Definition transformer_answers (T : nat) (z : tsizes) (ts : list tensor) (d : automaton) (g :
  hints) : bool :=
  has_tensors (transformer_labels z) ts && all_relu ts && Nat.eqb (TLetters z) (Letters d) &&
    right_in T (transformer_of z ts) d g.
Lemma transformer_answers_ok T hash names z ts d g : transformer_answers T z ts d g = true ->
  sha256 (described transformer_line names [] ts) = hash -> transformer_is_right T hash names z
    ts d.
Proof.
  unfold transformer_answers. intros H E. apply andb_prop in H as [H H4].
  apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
  split; [now apply has_tensors_ok|]. split; [now apply all_relu_ok|].
  split; [now apply Nat.eqb_eq|]. eapply sound; eauto.
Qed.
End Certificate.

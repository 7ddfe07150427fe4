(* Whether a file has the tensors that it should have, as a boolean. *)
From Coq Require Import ZArith List Bool Permutation String.
From Krohn Require Import Float32 Sha256 Tensors.
Import ListNotations.
Local Open Scope bool_scope.

Definition same_label (a b : label) : bool :=
  String.eqb (Name a) (Name b) && String.eqb (Type_ a) (Type_ b) && if list_eq_dec Nat.eq_dec
    (Shape a) (Shape b) then true else false.
Lemma same_label_ok a b : same_label a b = true -> a = b.
Proof.
  unfold same_label. intros H. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
  apply String.eqb_eq in H1, H2.
  destruct (list_eq_dec _ _ _) as [E|]; [|discriminate]. destruct a, b; cbn in *; congruence.
Qed.
Fixpoint without (a : label) (l : list label) : option (list label) :=
  match l with
  | [] => None
  | b :: l => if same_label a b then Some l else match without a l with Some k =>
    Some (b :: k) | None => None end
  end.
Lemma without_ok a l : forall k, without a l = Some k -> Permutation (a :: k) l.
Proof.
  induction l as [|b l IH]; cbn; intros k H; [discriminate|]. destruct (same_label a b) eqn:E.
  - injection H as <-. now rewrite (same_label_ok _ _ E).
  - destruct (without a l) as [j|]; [|discriminate]. injection H as <-. eapply perm_trans;
      [apply perm_swap|]. apply perm_skip. now apply IH.
Qed.
Fixpoint rearranged (a b : list label) : bool :=
  match a with
  | [] => match b with [] => true | _ => false end
  | x :: a => match without x b with Some b => rearranged a b | None => false end
  end.
Lemma rearranged_ok a : forall b, rearranged a b = true -> Permutation a b.
Proof.
  induction a as [|x a IH]; cbn; intros b H; [destruct b; [constructor|discriminate]|].
  destruct (without x b) as [k|] eqn:E; [|discriminate]. eapply perm_trans; [apply perm_skip, IH,
    H|]. now apply without_ok.
Qed.
Definition has_tensors (expected : list label) (ts : list tensor) : bool :=
  rearranged expected (map Label ts) && forallb (fun t => Nat.eqb (List.length (words_of t))
    (size_of (Label t))) ts.
Lemma has_tensors_ok hash line names first expected ts : has_tensors expected ts = true ->
  sha256 (described line names first ts) = hash -> is_file hash line names first expected ts.
Proof.
  unfold has_tensors. intros H H3. apply andb_prop in H as [H1 H2]. repeat split.
  - exact H3.
  - now apply rearranged_ok.
  - apply Forall_forall. intros t Ht. rewrite forallb_forall in H2. now apply Nat.eqb_eq, H2.
Qed.

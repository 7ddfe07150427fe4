(* What a certificate computes: one boolean, and the theorem that it is enough. *)
From Coq Require Import ZArith List Bool.
From Krohn Require Import Network File Closed Exact OneOrder.

Section Certificate.
Variables (sums_of : list f32 -> list f32 -> f32 -> Prop) (closed_in : network (list word) -> automaton -> list (list nat) -> bool).
Hypothesis sound : forall n d hints, closed_in n d hints = true -> right_on_every_word sums_of n d.
Definition checked (hash : Z) (z : sizes) (ts : list tensor) (d : automaton) (hints : list (list nat)) : bool :=
  (sha256 (safetensors ts) =? hash)%Z &&
  match network_of z ts with
  | Some n => Nat.eqb (length (Embedding n)) (Letters d) && closed_in n d hints
  | None => false
  end.
Lemma checked_is_right hash z ts d hints : checked hash z ts d hints = true -> file_is_right sums_of hash z ts d.
Proof.
  unfold checked. intros H. apply andb_prop in H as [H1 H2]. split; [now apply Z.eqb_eq|].
  destruct (network_of z ts) as [n|]; [|discriminate]. apply andb_prop in H2 as [H2 H3].
  exists n. split; [reflexivity|]. split; [now apply Nat.eqb_eq|now apply (sound n d hints)].
Qed.
End Certificate.

Definition checked_in_any_order := checked closed_in_any_order.
Definition checked_in_one_order := checked closed_in_one_order.
Theorem in_any_order hash z ts d hints : checked_in_any_order hash z ts d hints = true -> file_is_right any_order hash z ts d.
Proof. apply checked_is_right, any_order_right. Qed.
Theorem in_one_order hash z ts d hints : checked_in_one_order hash z ts d hints = true -> file_is_right one_order hash z ts d.
Proof. apply checked_is_right, one_order_right. Qed.

(* What the certificate of a Transformer computes: one boolean, and the theorem that it is enough. *)
From Coq Require Import ZArith List Bool.
From Krohn Require Import Network File Transformer TransformerFile Counting Layers Counted.

Definition transformer_checked (T : nat) (hash : Z) (z : tsizes) (ts : list (bool * tensor)) (d : automaton) (g : transformer_hints) : bool :=
  (sha256 (safetensors64 ts) =? hash)%Z && match transformer_of z ts with Some tr => counts_right T tr d g | None => false end.
Theorem by_counting T hash z ts d g : transformer_checked T hash z ts d g = true -> transformer_is_right T hash z ts d.
Proof.
  unfold transformer_checked. intros H. apply andb_prop in H as [H1 H2]. split; [now apply Z.eqb_eq|].
  destruct (transformer_of z ts) as [tr|]; [|discriminate]. exists tr. split; [reflexivity|]. eapply counts_right_sound; eauto.
Qed.

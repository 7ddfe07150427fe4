(* One bound for sums of products in any order and bracketing, fused or not, overflow included: for
   every binary format of IEEE 754, by its precision and its largest exponent. *)
From Coq Require Import ZArith List Bool Lia Permutation Reals Lra.
From Flocq Require Import Core BinarySingleNaN Plus_error Relative.
Import ListNotations.
Local Open Scope R_scope.

Section Format.
Variables prec emax : Z.
Context (positive : Prec_gt_0 prec) (fits : Prec_lt_emax prec emax).
Notation number := (binary_float prec emax).
Notation least := (3 - emax - prec)%Z.
(* as Float32.sums *)
Inductive sums : list (number * number) -> number -> Prop :=
| no_terms : sums [] (B754_zero false)
| product x y : sums [(x, y)] (Bmult mode_NE x y)
| plus k l a b : sums k a -> sums l b -> sums (k ++ l) (Bplus mode_NE a b)
| fused x y l a : sums l a -> sums ((x, y) :: l) (Bfma mode_NE x y a)
| in_other_order k l a : Permutation k l -> sums k a -> sums l a.

Definition u := bpow radix2 (- prec).
Definition eta := bpow radix2 (least - 1).
Definition tot (l : list (number * number)) : R :=
  fold_right (fun p s => B2R (fst p) * B2R (snd p) + s) 0 l.
Definition size (l : list (number * number)) : R :=
  fold_right (fun p s => Rabs (B2R (fst p) * B2R (snd p)) + s) 0 l.
Definition err (n : nat) (s : R) : R := ((1 + u) ^ n - 1) * s + INR n * eta * (1 + u) ^ n.
(* terms that are 0 are added without error *)
Fixpoint nz (l : list (number * number)) : nat := match l with [] => O | p :: l =>
  if Req_EM_T (B2R (fst p) * B2R (snd p)) 0 then nz l else S (nz l) end.
Definition all_finite (l : list (number * number)) : Prop := Forall (fun p =>
  is_finite (fst p) = true /\ is_finite (snd p) = true) l.

Lemma u_pos : 0 < u. Proof. apply bpow_gt_0. Qed.
Lemma eta_pos : 0 < eta. Proof. apply bpow_gt_0. Qed.
Lemma pow_ge1 n : 1 <= (1 + u) ^ n. Proof. apply pow_R1_Rle. pose proof u_pos. lra. Qed.
Lemma pow_mono p n : (p <= n)%nat -> (1 + u) ^ p <= (1 + u) ^ n.
Proof. intros. apply Rle_pow; auto. pose proof u_pos. lra. Qed.
Lemma tot_app k l : tot (k ++ l) = tot k + tot l.
Proof. unfold tot. induction k; cbn; [lra|]. rewrite IHk. lra. Qed.
Lemma size_app k l : size (k ++ l) = size k + size l.
Proof. unfold size. induction k; cbn; [lra|]. rewrite IHk. lra. Qed.
Lemma size_pos l : 0 <= size l.
Proof. unfold size. induction l as [|p l]; cbn; [lra|].
pose proof (Rabs_pos (B2R (fst p) * B2R (snd p))). lra. Qed.
Lemma tot_size l : Rabs (tot l) <= size l.
Proof. unfold tot, size. induction l as [|p l]; cbn; [rewrite Rabs_R0; lra|].
eapply Rle_trans; [apply Rabs_triang|]. lra. Qed.
Lemma tot_perm k l : Permutation k l -> tot k = tot l.
Proof. unfold tot. intros H. induction H; cbn; lra. Qed.
Lemma size_perm k l : Permutation k l -> size k = size l.
Proof. unfold size. intros H. induction H; cbn; lra. Qed.
Lemma nz_app k l : nz (k ++ l) = (nz k + nz l)%nat.
Proof. induction k as [|p k IH]; cbn [nz app]; [reflexivity|]. rewrite IH.
destruct Req_EM_T; reflexivity. Qed.
Lemma nz_perm k l : Permutation k l -> nz k = nz l.
Proof. intros H. induction H; cbn [nz]; repeat destruct Req_EM_T; congruence. Qed.
Lemma nz_le l : (nz l <= length l)%nat.
Proof. induction l as [|p l IH]; cbn [nz length]; [lia|]. destruct Req_EM_T; lia. Qed.
Lemma nz_null l : nz l = O -> size l = 0 /\ tot l = 0.
Proof.
  unfold size, tot. induction l as [|p l IH]; cbn [nz fold_right]; [auto|].
  destruct Req_EM_T as [E|]; [|discriminate]. intros H. destruct (IH H) as [-> ->].
  rewrite E, Rabs_R0. split; ring.
Qed.
Lemma err_mono p n s t : (p <= n)%nat -> 0 <= s <= t -> err p s <= err n t.
Proof.
  intros H [Hs Ht]. unfold err. pose proof (pow_mono p n H). pose proof (pow_ge1 p).
  pose proof eta_pos. pose proof (le_INR p n H). pose proof (pos_INR p).
  apply Rplus_le_compat.
  - apply Rmult_le_compat; lra.
  - apply Rmult_le_compat; try nra.
Qed.
(* one more rounding *)
Lemma err_step p n s : (p < n)%nat -> 0 <= s -> (1 + u) * err p s + u * s <= ((1 + u) ^ n - 1) * s
  + INR p * eta * (1 + u) ^ n.
Proof.
  intros H Hs. unfold err. pose proof (pow_mono (S p) n H) as M. cbn [pow] in M.
  pose proof (pos_INR p). pose proof eta_pos.
  assert (0 <= INR p * eta) by nra.
  replace ((1 + u) * (((1 + u) ^ p - 1) * s + INR p * eta * (1 + u) ^ p) + u * s) with (((1 + u) *
    (1 + u) ^ p - 1) * s + INR p * eta * ((1 + u) * (1 + u) ^ p)) by ring.
  apply Rplus_le_compat; [apply Rmult_le_compat_r; lra|apply Rmult_le_compat_l; lra].
Qed.

Local Notation rnd := (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)).
Lemma u_ro_is : u_ro radix2 prec = u.
Proof.
  unfold u_ro, u. replace (/ 2) with (bpow radix2 (-1)) by reflexivity. rewrite <- bpow_plus.
  f_equal. lia.
Qed.
Lemma rnd_any x : exists d h, Rabs d <= u /\ Rabs h <= eta /\ rnd x = x * (1 + d) + h.
Proof.
  destruct (error_N_FLT radix2 least prec positive (fun z => negb (Z.even z)) x)
    as [d [h [Hd [Hh [_ E]]]]].
  exists d, h. repeat split; auto.
  - rewrite <- u_ro_is. exact Hd.
  - eapply Rle_trans; [exact Hh|]. right. unfold eta.
    replace (/ 2) with (bpow radix2 (-1)) by reflexivity. rewrite <- bpow_plus. f_equal. lia.
Qed.
Lemma rnd_plus (x y : number) : exists d,
  Rabs d <= u /\ rnd (B2R x + B2R y) = (B2R x + B2R y) * (1 + d).
Proof.
  destruct (FLT_plus_error_N_ex radix2 least prec (fun z => negb (Z.even z)) (B2R x) (B2R y)) as [d
    [Hd E]].
  - apply (generic_format_B2R prec emax).
  - apply (generic_format_B2R prec emax).
  - exists d. split; [|exact E]. rewrite u_ro_is in Hd. eapply Rle_trans; [exact Hd|].
    pose proof u_pos.
    apply Rmult_le_reg_r with (1 + u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    nra.
Qed.

Lemma null x : Rabs x <= 0 -> x = 0.
Proof. unfold Rabs. destruct (Rcase_abs x); lra. Qed.
Definition room := bpow radix2 (emax - 1).
Lemma below_room x : Rabs x < room -> Rlt_bool (Rabs x) (bpow radix2 emax) = true.
Proof. intros H. apply Rlt_bool_true. eapply Rlt_trans; [exact H|]. apply bpow_lt. lia. Qed.
Lemma from_err c t s e : Rabs (c - t) <= e -> Rabs t <= s -> s + e < room -> Rabs c < room.
Proof. intros. replace c with ((c - t) + t) by ring. eapply Rle_lt_trans; [apply Rabs_triang|].
lra. Qed.

Theorem any_order_error l r : sums l r -> all_finite l -> size l + err (nz l) (size l) < room ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= err (nz l) (size l).
Proof.
  intros H. induction H as [|x y|k l a b Hk IHk Hl IHl|x y l a Hl IH|k l a HP Hk IH]; intros HF HB.
  - split; auto. unfold tot, err; cbn. replace (0 - 0) with 0 by ring. rewrite Rabs_R0.
    unfold size; cbn. lra.
  - inversion HF as [|p q [Fx Fy] _]; subst. cbn in Fx, Fy.
    destruct (rnd_any (B2R x * B2R y)) as [d [h [Hd [Hh E]]]].
    assert (B : Rabs (rnd (B2R x * B2R y) - tot [(x, y)]) <= err (nz [(x, y)]) (size [(x, y)])).
    { cbn [nz fst snd]. destruct (Req_EM_T (B2R x * B2R y) 0) as [N|_].
      { unfold tot, size, err; cbn [fold_right fst snd pow INR].
        rewrite N, round_0, Rabs_R0 by apply valid_rnd_N. replace (0 - (0 + 0)) with 0 by ring.
        rewrite Rabs_R0. lra. }
      rewrite E. unfold tot, size, err; cbn [fold_right fst snd pow INR].
      replace (B2R x * B2R y * (1 + d) + h - (B2R x * B2R y + 0)) with (d * (B2R x * B2R y) + h)
        by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
      pose proof (Rabs_pos (B2R x * B2R y)). pose proof u_pos. pose proof eta_pos.
      assert (Rabs d * Rabs (B2R x * B2R y) <= u * Rabs (B2R x * B2R y)) by (apply
        Rmult_le_compat_r; lra). pose proof (Rmult_lt_0_compat _ _ eta_pos u_pos). lra. }
    pose proof (Bmult_correct prec emax _ _ mode_NE x y) as C.
    rewrite below_room in C by (eapply from_err; [exact B|apply tot_size|exact HB]).
    destruct C as [C1 [C2 _]]. rewrite Fx, Fy in C2. split; auto. rewrite C1. exact B.
  - apply Forall_app in HF as [Fk Fl]. rewrite size_app, nz_app in *. rewrite tot_app.
    pose proof (size_pos k). pose proof (size_pos l).
    assert (Mk : err (nz k) (size k) <= err (nz k + nz l) (size k + size l)) by (apply err_mono;
      [lia|lra]).
    assert (Ml : err (nz l) (size l) <= err (nz k + nz l) (size k + size l)) by (apply err_mono;
      [lia|lra]).
    destruct IHk as [Fa Ea]; auto; [lra|]. destruct IHl as [Fb Eb]; auto; [lra|].
    assert (B : Rabs (rnd (B2R a + B2R b) - (tot k + tot l)) <= err (nz k + nz l) (size k + size
      l)).
    { assert (G : forall z : number, rnd (B2R z) = B2R z) by (intros; apply round_generic;
        [apply valid_rnd_N|apply generic_format_B2R]).
      assert (Z0 : err 0 0 = 0) by (unfold err; cbn; ring).
      destruct (Nat.eq_dec (nz k) 0) as [N|Nk].
      { destruct (nz_null k N) as [S0 T0]. rewrite N, S0, T0 in *. rewrite Z0 in Ea.
        assert (H1 : B2R a = 0) by (apply null in Ea; lra). cbn [Nat.add].
        rewrite H1, !Rplus_0_l, G. exact Eb. }
      destruct (Nat.eq_dec (nz l) 0) as [N|Nl].
      { destruct (nz_null l N) as [S0 T0]. rewrite N, S0, T0 in *. rewrite Z0 in Eb.
        assert (H1 : B2R b = 0) by (apply null in Eb; lra). rewrite H1, Nat.add_0_r, !Rplus_0_r,
          G. exact Ea. }
      set (n := (nz k + nz l)%nat).
      destruct (rnd_plus a b) as [d [Hd E]]. rewrite E.
      replace ((B2R a + B2R b) * (1 + d) - (tot k + tot l)) with ((1 + d) * ((B2R a - tot k) +
        (B2R b - tot l)) + d * (tot k + tot l)) by ring.
      pose proof (err_step (nz k) n (size k) ltac:(unfold n; lia) H) as S1.
      pose proof (err_step (nz l) n (size l) ltac:(unfold n; lia) H0) as S2.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
      assert (A1 : Rabs (1 + d) <= 1 + u) by (eapply Rle_trans; [apply Rabs_triang|];
        rewrite Rabs_R1; lra).
      assert (A2 : Rabs (B2R a - tot k + (B2R b - tot l)) <= err (nz k) (size k) + err (nz l)
        (size l)) by (eapply Rle_trans; [apply Rabs_triang|]; lra).
      assert (A3 : Rabs (tot k + tot l) <= size k + size l) by (eapply Rle_trans;
        [apply Rabs_triang|]; pose proof (tot_size k); pose proof (tot_size l); lra).
      assert (A4 : Rabs (1 + d) * Rabs (B2R a - tot k + (B2R b - tot l)) <= (1 + u) * (err (nz k)
        (size k) + err (nz l) (size l))) by (apply Rmult_le_compat; auto using Rabs_pos).
      assert (A5 : Rabs d * Rabs (tot k + tot l) <= u * (size k + size l)) by (apply
        Rmult_le_compat; auto using Rabs_pos).
      unfold err at 1. fold n. unfold n at 2. rewrite plus_INR. lra. }
    pose proof (Bplus_correct prec emax _ _ mode_NE a b Fa Fb) as C.
    rewrite below_room in C by (apply (from_err _ _ (size k + size l) _ B); [rewrite <- tot_app,
      <- size_app; apply tot_size|exact HB]).
    destruct C as [C1 [C2 _]]. split; auto. rewrite C1. exact B.
  - inversion HF as [|p q [Fx Fy] Fl]; subst. cbn in Fx, Fy.
    change (size ((x, y) :: l)) with (Rabs (B2R x * B2R y) + size l) in *. change (tot ((x,
      y) :: l)) with (B2R x * B2R y + tot l). cbn [nz fst snd] in *.
    pose proof (size_pos l). pose proof (Rabs_pos (B2R x * B2R y)). set (t := B2R x * B2R y) in *.
    pose proof (Bfma_correct prec emax _ _ mode_NE x y a Fx Fy) as C0.
    cbv zeta in C0. fold t in C0.
    destruct (Req_EM_T t 0) as [Nt|_].
    { rewrite Nt, Rabs_R0, Rplus_0_l in *. destruct IH as [Fa Ea]; auto. specialize (C0 Fa).
      rewrite Rplus_0_l in *.
      rewrite (round_generic _ _ _ (B2R a)) in C0 by apply generic_format_B2R.
      rewrite below_room in C0.
      - destruct C0 as [C1 [C2 _]]. split; auto. rewrite C1. exact Ea.
      - apply (from_err _ _ (size l) _ Ea); [apply tot_size|exact HB]. }
    clear C0. set (n := S (nz l)) in *.
    assert (Ml : err (nz l) (size l) <= err n (Rabs t + size l)) by (apply err_mono; [unfold n;
      lia|lra]).
    destruct IH as [Fa Ea]; auto; [lra|].
    assert (B : Rabs (rnd (t + B2R a) - (t + tot l)) <= err n (Rabs t + size l)).
    { destruct (rnd_any (t + B2R a)) as [d [h [Hd [Hh E]]]]. rewrite E.
      replace ((t + B2R a) * (1 + d) + h - (t + tot l)) with ((1 + d) * (B2R a - tot l) + d * (t +
        tot l) + h) by ring.
      pose proof (err_step (nz l) n (size l) ltac:(unfold n; lia) H) as S1.
      assert (A1 : Rabs (1 + d) <= 1 + u) by (eapply Rle_trans; [apply Rabs_triang|];
        rewrite Rabs_R1; lra).
      assert (A3 : Rabs (t + tot l) <= Rabs t + size l) by (eapply Rle_trans;
        [apply Rabs_triang|]; pose proof (tot_size l); lra).
      assert (A4 : Rabs ((1 + d) * (B2R a - tot l)) <= (1 + u) * err (nz l) (size l)) by (rewrite
        Rabs_mult; apply Rmult_le_compat; auto using Rabs_pos).
      assert (A5 : Rabs (d * (t + tot l)) <= u * (Rabs t + size l)) by (rewrite Rabs_mult;
        apply Rmult_le_compat; auto using Rabs_pos).
      assert (A6 : u * Rabs t <= ((1 + u) ^ n - 1) * Rabs t).
      { apply Rmult_le_compat_r; auto. unfold n. cbn [pow]. pose proof (pow_ge1 (nz l)).
        pose proof u_pos. nra. }
      assert (A7 : eta <= eta * (1 + u) ^ n) by (pose proof (pow_ge1 n); pose proof eta_pos; nra).
      eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r;
        apply Rabs_triang|].
      unfold err at 1. unfold n at 2. rewrite S_INR. lra. }
    pose proof (Bfma_correct prec emax _ _ mode_NE x y a Fx Fy Fa) as C.
    cbv zeta in C. fold t in C.
    rewrite below_room in C.
    + destruct C as [C1 [C2 _]]. split; auto. rewrite C1. exact B.
    + apply (from_err _ _ (Rabs t + size l) _ B); [|exact HB].
      eapply Rle_trans; [apply Rabs_triang|]. pose proof (tot_size l). lra.
  - rewrite <- (tot_perm k l HP), <- (size_perm k l HP), <- (nz_perm k l HP) in *.
    apply IH; auto. unfold all_finite in *. eapply Permutation_Forall; [apply Permutation_sym;
      exact HP|exact HF].
Qed.
End Format.

(* the formats that krohn's own checker knows *)
Definition in_float64 := any_order_error 53 1024 eq_refl eq_refl.
Definition in_float32 := any_order_error 24 128 eq_refl eq_refl.
Definition in_float16 := any_order_error 11 16 eq_refl eq_refl.
Definition in_bfloat16 := any_order_error 8 128 eq_refl eq_refl.

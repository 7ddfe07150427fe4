(* One bound for sums of products in any order and bracketing, fused or not, overflow included: for
   every binary format of IEEE 754, by its precision and its largest exponent.  Each term is
   rounded once, and each partial sum, which is at most the sum of the positive terms or of the
   negative. *)
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
(* no part of the sum is larger: of the positive terms, or of the negative ones *)
Definition top (l : list (number * number)) : R := (size l + Rabs (tot l)) / 2.
(* of n terms of this size, each is rounded once, and n - 1 partial sums of at most m *)
Definition err (n : nat) (s m : R) : R :=
  (u * s + INR (Nat.pred n) * u * m + INR n * eta) * (1 + u) ^ Nat.pred n.
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
Lemma top_perm k l : Permutation k l -> top k = top l.
Proof. intros H. unfold top. now rewrite (size_perm k l H), (tot_perm k l H). Qed.
Lemma top_at_least l : Rabs (tot l) <= top l.
Proof. unfold top. pose proof (tot_size l). lra. Qed.
Lemma top_at_most l : top l <= size l.
Proof. unfold top. pose proof (tot_size l). lra. Qed.
Lemma part_below a b s t : Rabs b <= t -> (s + Rabs a) / 2 <= (s + t + Rabs (a + b)) / 2.
Proof.
  intros H. assert (Rabs a <= Rabs (a + b) + Rabs b); [|lra].
  replace a with ((a + b) + - b) at 1 by ring. rewrite <- (Rabs_Ropp b). apply Rabs_triang.
Qed.
Lemma top_left k l : top k <= top (k ++ l).
Proof. unfold top. rewrite size_app, tot_app. apply part_below, tot_size. Qed.
Lemma top_right k l : top l <= top (k ++ l).
Proof.
  unfold top. rewrite size_app, tot_app, (Rplus_comm (size k)), (Rplus_comm (tot k)).
  apply part_below, tot_size.
Qed.
Lemma err_mono p n s t a b : (p <= n)%nat -> 0 <= s <= t -> 0 <= a <= b -> err p s a <= err n t b.
Proof.
  intros H [Hs Ht] [Ha Hb]. unfold err.
  pose proof (pow_mono (Nat.pred p) (Nat.pred n) ltac:(lia)) as M.
  pose proof (pow_ge1 (Nat.pred p)). pose proof eta_pos. pose proof u_pos.
  pose proof (le_INR p n H). pose proof (le_INR (Nat.pred p) (Nat.pred n) ltac:(lia)).
  pose proof (pos_INR p). pose proof (pos_INR (Nat.pred p)).
  assert (INR (Nat.pred p) * u * a <= INR (Nat.pred n) * u * b) by (apply Rmult_le_compat; nra).
  assert (0 <= INR (Nat.pred p) * u * a) by (apply Rmult_le_pos; nra).
  apply Rmult_le_compat; nra.
Qed.
(* the sum of two parts, both of which have terms, rounded once more *)
Lemma err_plus p q s t m : (0 < p)%nat -> (0 < q)%nat -> 0 <= s -> 0 <= t -> 0 <= m ->
  (1 + u) * (err p s m + err q t m) + u * m <= err (p + q) (s + t) m.
Proof.
  intros Hp Hq Hs Ht Hm. unfold err. set (n := Nat.pred (p + q)).
  pose proof (pow_mono (S (Nat.pred p)) n ltac:(unfold n; lia)) as Mp.
  pose proof (pow_mono (S (Nat.pred q)) n ltac:(unfold n; lia)) as Mq. cbn [pow] in Mp, Mq.
  pose proof (pow_ge1 n) as G. pose proof eta_pos. pose proof u_pos.
  assert (N : INR n = INR (Nat.pred p) + INR (Nat.pred q) + 1).
  { rewrite <- plus_INR, <- S_INR. f_equal. unfold n. lia. }
  rewrite N, plus_INR.
  pose proof (pos_INR p). pose proof (pos_INR q). pose proof (pos_INR (Nat.pred p)) as P0.
  pose proof (pos_INR (Nat.pred q)) as Q0.
  assert (um : 0 <= u * m) by nra.
  set (A := u * s + INR (Nat.pred p) * u * m + INR p * eta).
  set (B := u * t + INR (Nat.pred q) * u * m + INR q * eta).
  assert (0 <= A) by (unfold A; rewrite Rmult_assoc; pose proof (Rmult_le_pos _ _ P0 um); nra).
  assert (0 <= B) by (unfold B; rewrite Rmult_assoc; pose proof (Rmult_le_pos _ _ Q0 um); nra).
  replace (u * (s + t) + (INR (Nat.pred p) + INR (Nat.pred q) + 1) * u * m + (INR p + INR q) * eta)
    with (A + B + u * m) by (unfold A, B; ring).
  assert (A * ((1 + u) * (1 + u) ^ Nat.pred p) <= A * (1 + u) ^ n) by
    (apply Rmult_le_compat_l; lra).
  assert (B * ((1 + u) * (1 + u) ^ Nat.pred q) <= B * (1 + u) ^ n) by
    (apply Rmult_le_compat_l; lra).
  assert (u * m <= u * m * (1 + u) ^ n) by nra. lra.
Qed.
(* one term more, fused *)
Lemma err_fused p s t m : (0 < p)%nat -> 0 <= s -> 0 <= t -> 0 <= m ->
  (1 + u) * err p s m + u * m + eta <= err (S p) (t + s) m.
Proof.
  intros Hp Hs Ht Hm. unfold err. cbn [Nat.pred]. destruct p as [|p]; [lia|]. cbn [Nat.pred].
  rewrite !S_INR. cbn [pow]. pose proof (pow_ge1 p) as G. pose proof eta_pos. pose proof u_pos.
  pose proof (pos_INR p) as P0. assert (um : 0 <= u * m) by nra. set (w := (1 + u) ^ p) in *.
  replace ((1 + u) * ((u * s + INR p * u * m + (INR p + 1) * eta) * w) + u * m + eta)
    with ((u * s + INR p * u * m + (INR p + 1) * eta) * ((1 + u) * w) + (u * m + eta)) by ring.
  replace ((u * (t + s) + (INR p + 1) * u * m + (INR p + 1 + 1) * eta) * ((1 + u) * w))
    with ((u * s + INR p * u * m + (INR p + 1) * eta) * ((1 + u) * w)
          + (u * t + (u * m + eta)) * ((1 + u) * w)) by ring.
  apply Rplus_le_compat_l. assert (1 <= (1 + u) * w) by nra. assert (0 <= u * t) by nra.
  assert (0 <= (u * t + (u * m + eta)) * ((1 + u) * w - 1)) by (apply Rmult_le_pos; lra). lra.
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

Definition bound (l : list (number * number)) : R := err (nz l) (size l) (top l).
Lemma top_pos l : 0 <= top l.
Proof. eapply Rle_trans; [apply Rabs_pos|apply top_at_least]. Qed.
Lemma bound_null l : nz l = O -> bound l = 0.
Proof.
  intros N. unfold bound, err. destruct (nz_null l N) as [S0 _]. rewrite N, S0. cbn. ring.
Qed.
Lemma bound_left k l : bound k <= bound (k ++ l).
Proof.
  unfold bound. rewrite nz_app, size_app. pose proof (size_pos k). pose proof (size_pos l).
  apply err_mono; [lia|lra|split; [apply top_pos|apply top_left]].
Qed.
Lemma bound_right k l : bound l <= bound (k ++ l).
Proof.
  unfold bound. rewrite nz_app, size_app. pose proof (size_pos k). pose proof (size_pos l).
  apply err_mono; [lia|lra|split; [apply top_pos|apply top_right]].
Qed.
Lemma bound_perm k l : Permutation k l -> bound k = bound l.
Proof.
  intros H. unfold bound. now rewrite (nz_perm k l H), (size_perm k l H), (top_perm k l H).
Qed.
Lemma near_one d : Rabs d <= u -> Rabs (1 + d) <= 1 + u.
Proof. intros H. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_R1. lra. Qed.
Lemma rounded_sum c d t e m : Rabs d <= u -> Rabs (c - t) <= e -> Rabs t <= m ->
  Rabs (c * (1 + d) - t) <= (1 + u) * e + u * m.
Proof.
  intros Hd He Hm. replace (c * (1 + d) - t) with ((1 + d) * (c - t) + d * t) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  apply Rplus_le_compat; apply Rmult_le_compat; auto using Rabs_pos, near_one.
Qed.
Lemma product_error x y : Rabs (rnd (B2R x * B2R y) - tot [(x, y)]) <= bound [(x, y)].
Proof.
  unfold bound, err, tot, size; cbn [nz fold_right fst snd].
  destruct (Req_EM_T (B2R x * B2R y) 0) as [N|_]; cbn [Nat.pred pow INR].
  { rewrite N, round_0, Rabs_R0 by apply valid_rnd_N. replace (0 - (0 + 0)) with 0 by ring.
    rewrite Rabs_R0. lra. }
  destruct (rnd_any (B2R x * B2R y)) as [d [h [Hd [Hh ->]]]].
  replace (B2R x * B2R y * (1 + d) + h - (B2R x * B2R y + 0)) with (d * (B2R x * B2R y) + h)
    by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  pose proof (Rabs_pos (B2R x * B2R y)).
  assert (Rabs d * Rabs (B2R x * B2R y) <= u * Rabs (B2R x * B2R y)) by (apply
    Rmult_le_compat_r; lra). lra.
Qed.
Lemma plus_error k l (a b : number) : Rabs (B2R a - tot k) <= bound k ->
  Rabs (B2R b - tot l) <= bound l ->
  Rabs (rnd (B2R a + B2R b) - tot (k ++ l)) <= bound (k ++ l).
Proof.
  intros Ea Eb. rewrite tot_app.
  assert (G : forall z : number, rnd (B2R z) = B2R z) by (intros; apply round_generic;
    [apply valid_rnd_N|apply generic_format_B2R]).
  destruct (Nat.eq_dec (nz k) 0) as [N|Nk].
  { destruct (nz_null k N) as [_ T0]. rewrite (bound_null k N), T0 in Ea.
    assert (H1 : B2R a = 0) by (apply null in Ea; lra). rewrite H1, T0, !Rplus_0_l, G.
    eapply Rle_trans; [exact Eb|apply bound_right]. }
  destruct (Nat.eq_dec (nz l) 0) as [N|Nl].
  { destruct (nz_null l N) as [_ T0]. rewrite (bound_null l N), T0 in Eb.
    assert (H1 : B2R b = 0) by (apply null in Eb; lra). rewrite H1, T0, !Rplus_0_r, G.
    eapply Rle_trans; [exact Ea|apply bound_left]. }
  destruct (rnd_plus a b) as [d [Hd ->]]. set (m := top (k ++ l)).
  pose proof (size_pos k). pose proof (size_pos l). pose proof (top_pos (k ++ l)) as M0.
  assert (Ek : bound k <= err (nz k) (size k) m) by (apply err_mono; [lia|lra|split;
    [apply top_pos|apply top_left]]).
  assert (El : bound l <= err (nz l) (size l) m) by (apply err_mono; [lia|lra|split;
    [apply top_pos|apply top_right]]).
  eapply Rle_trans; [apply (rounded_sum _ d _ (err (nz k) (size k) m + err (nz l) (size l) m) m);
    [exact Hd| |rewrite <- tot_app; apply top_at_least]|].
  - replace (B2R a + B2R b - (tot k + tot l)) with ((B2R a - tot k) + (B2R b - tot l)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
  - unfold bound. rewrite nz_app, size_app. apply err_plus; auto; lia.
Qed.
Lemma fused_error x y l (a : number) : Rabs (B2R a - tot l) <= bound l ->
  Rabs (rnd (B2R x * B2R y + B2R a) - tot ((x, y) :: l)) <= bound ((x, y) :: l).
Proof.
  intros Ea. destruct (Req_EM_T (B2R x * B2R y) 0) as [Nt|Nt].
  { rewrite Nt, Rplus_0_l, round_generic by (try apply valid_rnd_N; apply generic_format_B2R).
    eapply Rle_trans; [|exact (bound_right [(x, y)] l)].
    change (tot ((x, y) :: l)) with (B2R x * B2R y + tot l). rewrite Nt, Rplus_0_l. exact Ea. }
  destruct (Nat.eq_dec (nz l) 0) as [N|Nl].
  { destruct (nz_null l N) as [_ T0]. rewrite (bound_null l N), T0 in Ea.
    assert (H1 : B2R a = 0) by (apply null in Ea; lra). rewrite H1, Rplus_0_r.
    eapply Rle_trans; [|exact (bound_left [(x, y)] l)].
    replace (tot ((x, y) :: l)) with (tot [(x, y)]); [apply product_error|].
    change (tot ((x, y) :: l)) with (B2R x * B2R y + tot l). rewrite T0. reflexivity. }
  destruct (rnd_any (B2R x * B2R y + B2R a)) as [d [h [Hd [Hh ->]]]].
  set (m := top ((x, y) :: l)). set (t := B2R x * B2R y) in *.
  pose proof (size_pos l). pose proof (top_pos ((x, y) :: l)) as M0. fold m in M0.
  assert (El : bound l <= err (nz l) (size l) m) by (apply err_mono; [lia|lra|split;
    [apply top_pos|exact (top_right [(x, y)] l)]]).
  replace ((t + B2R a) * (1 + d) + h - tot ((x, y) :: l))
    with (((t + B2R a) * (1 + d) - tot ((x, y) :: l)) + h) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  eapply Rle_trans; [apply Rplus_le_compat; [|exact Hh];
    apply (rounded_sum _ d _ (err (nz l) (size l) m) m); [exact Hd| |apply top_at_least]|].
  - change (tot ((x, y) :: l)) with (t + tot l).
    replace (t + B2R a - (t + tot l)) with (B2R a - tot l) by ring. lra.
  - unfold bound. cbn [nz fst snd]. fold t. destruct (Req_EM_T t 0); [contradiction|].
    change (size ((x, y) :: l)) with (Rabs t + size l). fold m.
    apply err_fused; auto using Rabs_pos. lia.
Qed.
Theorem any_order_error l r : sums l r -> all_finite l -> top l + bound l < room ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= bound l.
Proof.
  intros H. induction H as [|x y|k l a b Hk IHk Hl IHl|x y l a Hl IH|k l a HP Hk IH]; intros HF HB.
  - split; auto. rewrite bound_null by reflexivity. cbn. rewrite Rminus_0_r, Rabs_R0. lra.
  - inversion HF as [|p q [Fx Fy] _]; subst. cbn in Fx, Fy. pose proof (product_error x y) as B.
    pose proof (Bmult_correct prec emax _ _ mode_NE x y) as C.
    rewrite below_room in C by (eapply from_err; [exact B|apply top_at_least|exact HB]).
    destruct C as [C1 [C2 _]]. rewrite Fx, Fy in C2. split; auto. rewrite C1. exact B.
  - apply Forall_app in HF as [Fk Fl].
    pose proof (bound_left k l). pose proof (bound_right k l).
    pose proof (top_left k l). pose proof (top_right k l).
    destruct IHk as [Fa Ea]; auto; [lra|]. destruct IHl as [Fb Eb]; auto; [lra|].
    pose proof (plus_error k l a b Ea Eb) as B.
    pose proof (Bplus_correct prec emax _ _ mode_NE a b Fa Fb) as C.
    rewrite below_room in C by (eapply from_err; [exact B|apply top_at_least|exact HB]).
    destruct C as [C1 [C2 _]]. split; auto. rewrite C1. exact B.
  - inversion HF as [|p q [Fx Fy] Fl]; subst. cbn in Fx, Fy.
    pose proof (bound_right [(x, y)] l : bound l <= bound ((x, y) :: l)).
    pose proof (top_right [(x, y)] l : top l <= top ((x, y) :: l)).
    destruct IH as [Fa Ea]; auto; [lra|]. pose proof (fused_error x y l a Ea) as B.
    pose proof (Bfma_correct prec emax _ _ mode_NE x y a Fx Fy Fa) as C. cbv zeta in C.
    rewrite below_room in C by (eapply from_err; [exact B|apply top_at_least|exact HB]).
    destruct C as [C1 [C2 _]]. split; auto. rewrite C1. exact B.
  - rewrite <- (tot_perm k l HP), <- (bound_perm k l HP), <- (top_perm k l HP) in *.
    apply IH; auto. unfold all_finite in *. eapply Permutation_Forall; [apply Permutation_sym;
      exact HP|exact HF].
Qed.
End Format.

(* the formats that krohn's own checker knows *)
Definition in_float64 := any_order_error 53 1024 eq_refl eq_refl.
Definition in_float32 := any_order_error 24 128 eq_refl eq_refl.
Definition in_float16 := any_order_error 11 16 eq_refl eq_refl.
Definition in_bfloat16 := any_order_error 8 128 eq_refl eq_refl.

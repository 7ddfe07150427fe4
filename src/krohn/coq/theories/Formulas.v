(* The formulas of krohn's checker in Python, as lemmas about every binary format of IEEE 754.
   No certificate needs this file.  docs/kernel.md says which line has which lemma. *)
From Coq Require Import ZArith List Bool Lia Permutation Reals Lra.
From Flocq Require Import Core BinarySingleNaN Plus_error Relative.
From Krohn Require Import AnyOrder.
Import ListNotations.
Local Open Scope R_scope.

Section Format.
Variables prec emax : Z.
Context (positive : Prec_gt_0 prec) (fits : Prec_lt_emax prec emax).
Local Notation number := (binary_float prec emax).
Local Notation least := (3 - emax - prec)%Z.
Local Notation u := (u prec).
Local Notation eta := (eta prec emax).
Local Notation tot := (tot prec emax).
Local Notation size := (size prec emax).
Local Notation nz := (nz prec emax).
Local Notation format := (generic_format radix2 (SpecFloat.fexp prec emax)).
Local Notation rnd := (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)).
Definition tiny := bpow radix2 least.          (* Rounding.tiny, the least positive number *)

Lemma tiny_is : tiny = 2 * eta.
Proof.
  unfold tiny, AnyOrder.eta. replace least with (1 + (least - 1))%Z at 1 by lia.
  rewrite bpow_plus. reflexivity.
Qed.

(* ---------- powers of 1 + u ---------- *)
Definition grown (n : nat) : R := (1 + u) ^ n.
Lemma grown_1 n : 1 <= grown n. Proof. apply pow_ge1. Qed.
Lemma grown_mono p n : (p <= n)%nat -> grown p <= grown n. Proof. apply pow_mono. Qed.
Lemma grown_few n : INR n * u < 1 -> grown n <= / (1 - INR n * u).
Proof.
  intros H. assert (B : forall k, INR k * u < 1 -> grown k * (1 - INR k * u) <= 1).
  { unfold grown. pose proof (u_pos prec). induction k as [|k IH]; intros L; [cbn; lra|].
    rewrite S_INR in *. cbn [pow]. pose proof (pos_INR k). pose proof (grown_1 k) as G.
    unfold grown in G. specialize (IH ltac:(nra)).
    assert (0 <= (1 + u) ^ k * ((INR k + 1) * u * u)) by (apply Rmult_le_pos; nra). nra. }
  apply Rmult_le_reg_r with (1 - INR n * u); [lra|]. rewrite Rinv_l by lra. now apply B.
Qed.
Lemma grown_2 n : INR n * u <= / 2 -> grown n <= 2.
Proof.
  intros H. eapply Rle_trans; [apply grown_few; lra|].
  replace 2 with (/ / 2) by lra. apply Rinv_le; lra.
Qed.
Lemma grown_less n : grown n - 1 <= INR n * u * grown n.
Proof.
  unfold grown. pose proof (u_pos prec). induction n as [|n IH]; [cbn; lra|].
  rewrite S_INR. cbn [pow]. pose proof (grown_1 n) as G. unfold grown in G.
  pose proof (pos_INR n). nra.
Qed.

(* ---------- one rounding: Format.rounding, Rounding.holds ---------- *)
Theorem rounding_error x : Rabs (rnd x - x) <= u * Rabs x + eta.
Proof.
  destruct (rnd_any prec emax positive x) as [d [h [Hd [Hh ->]]]].
  replace (x * (1 + d) + h - x) with (d * x + h) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. pose proof (Rabs_pos x).
  apply Rplus_le_compat; auto. now apply Rmult_le_compat_r.
Qed.
Theorem rounding_formula x : Rabs (rnd x - x) <= u * Rabs x + tiny.
Proof. pose proof (rounding_error x). pose proof (eta_pos prec emax). rewrite tiny_is. lra. Qed.
Theorem rounding_is_monotone x y : x <= y -> rnd x <= rnd y.
Proof.
  apply round_le; [apply (fexp_correct prec emax); exact positive|apply valid_rnd_N].
Qed.
Theorem multiples_held k z : (least <= k)%Z -> Rabs (IZR z * bpow radix2 k) < bpow radix2 (k +
  prec)
  -> format (IZR z * bpow radix2 k).
Proof.
  intros L H. apply (generic_format_FLT radix2 least prec).
  exists (Float radix2 z k); [reflexivity| |exact L]. cbn [Fnum].
  apply lt_IZR. rewrite abs_IZR. change (IZR (2 ^ prec)) with (IZR (Zpower radix2 prec)).
  rewrite IZR_Zpower by (red in positive; lia).
  apply Rmult_lt_reg_r with (bpow radix2 k); [apply bpow_gt_0|].
  rewrite <- bpow_plus, (Z.add_comm prec), <- (Rabs_pos_eq (bpow radix2 k)) by apply bpow_ge_0.
  rewrite <- Rabs_mult. exact H.
Qed.

(* ---------- products by powers of two: real.terms_of ---------- *)
Definition power w := exists k, Rabs w = bpow radix2 k.
Lemma power_sign w : power w -> exists k s, (s = 1 \/ s = -1) /\ w = s * bpow radix2 k.
Proof.
  intros [k H]. exists k. unfold Rabs in H. destruct (Rcase_abs w);
    [exists (-1)|exists 1]; split; auto; lra.
Qed.
Lemma number_parts (x : number) : exists m e,
  B2R x = IZR m * bpow radix2 e /\ (Z.abs m < 2 ^ prec)%Z /\ (least <= e)%Z.
Proof.
  pose proof (generic_format_B2R prec emax x) as G.
  apply (FLT_format_generic radix2 least prec) in G. destruct G as [f H M E].
  exists (Fnum f), (Fexp f). split; [exact H|auto].
Qed.
Lemma by_power (x w : number) : power (B2R w) -> format (B2R x * B2R w) \/
  (Rabs (B2R w) < 1 /\ Rabs (rnd (B2R x * B2R w) - B2R x * B2R w) <= eta).
Proof.
  intros P. destruct (power_sign _ P) as [k [s [S W]]].
  destruct (number_parts x) as [m [e [X [M E]]]].
  assert (T : exists z, (Z.abs z < 2 ^ prec)%Z /\ B2R x * B2R w = IZR z * bpow radix2 (e + k)).
  { rewrite X, W, bpow_plus. destruct S as [-> | ->]; [exists m|exists (- m)%Z]; split; auto;
      [ring|lia|rewrite opp_IZR; ring]. }
  destruct T as [z [Z T]]. rewrite T.
  assert (B : Rabs (IZR z * bpow radix2 (e + k)) < bpow radix2 (e + k + prec)).
  { rewrite Rabs_mult, (Rabs_pos_eq (bpow _ _)) by apply bpow_ge_0.
    rewrite (bpow_plus radix2 (e + k)), (Rmult_comm (bpow radix2 (e + k))).
    apply Rmult_lt_compat_r; [apply bpow_gt_0|]. rewrite <- abs_IZR.
    rewrite <- IZR_Zpower by (red in positive; lia). now apply IZR_lt. }
  destruct (Z_le_gt_dec least (e + k)) as [L|L]; [left; now apply multiples_held|]. right. split.
  - rewrite W, Rabs_mult. replace (Rabs s) with 1 by (destruct S as [-> | ->]; unfold Rabs;
      destruct Rcase_abs; lra). rewrite Rmult_1_l, Rabs_pos_eq by apply bpow_ge_0.
    change 1 with (bpow radix2 0). apply bpow_lt. lia.
  - eapply Rle_trans; [apply error_le_half_ulp; apply (fexp_correct prec emax positive)|].
    change (SpecFloat.fexp prec emax) with (FLT_exp least prec).
    rewrite (@ulp_FLT_small radix2 least prec positive).
    + right. unfold AnyOrder.eta. replace (/ 2) with (bpow radix2 (-1)) by reflexivity.
      rewrite <- bpow_plus. f_equal. lia.
    + eapply Rlt_trans; [exact B|]. apply bpow_lt. lia.
Qed.

(* ---------- sums of products in any order, fused or not ---------- *)
Local Notation term p := (B2R (fst p) * B2R (snd p)).
(* terms that are not 0 *)
Definition counted (f : number * number -> bool) (l : list (number * number)) : nat :=
  length (filter (fun p => if Req_EM_T (term p) 0 then false else f p) l).
Lemma counted_app f k l : counted f (k ++ l) = (counted f k + counted f l)%nat.
Proof. unfold counted. now rewrite filter_app, app_length. Qed.
Lemma counted_cons f p l : counted f (p :: l) = (counted f [p] + counted f l)%nat.
Proof. exact (counted_app f [p] l). Qed.
Lemma counted_perm f k l : Permutation k l -> counted f k = counted f l.
Proof.
  intros H. unfold counted. induction H as [|p k l H IH|p q l|k l m H1 IH1 H2 IH2]; cbn [filter];
    repeat (destruct (Req_EM_T (term _) 0)); repeat (destruct (f _)); cbn [length]; congruence.
Qed.
Lemma counted_few f l : (counted f l <= nz l)%nat.
Proof.
  unfold counted. induction l as [|p l IH]; cbn [filter AnyOrder.nz]; [cbn; lia|].
  destruct (Req_EM_T (term p) 0); [exact IH|]. destruct (f p); cbn [length]; lia.
Qed.

(* a bound holds for every order if it holds for one product, grows with more terms, and allows for
   one rounding more where two parts meet *)
Section Bound.
Variables (faint : number * number -> bool) (off : list (number * number) -> R).
Hypothesis clear_is : forall p, faint p = false ->
  power (B2R (snd p)) /\ 1 <= Rabs (B2R (snd p)).
Hypothesis off_null : forall l, nz l = O -> off l = 0.
Hypothesis off_perm : forall k l, Permutation k l -> off k = off l.
Hypothesis off_left : forall k l, off k <= off (k ++ l).
Hypothesis product_off : forall x y,
  Rabs (rnd (B2R x * B2R y) - B2R x * B2R y) <= off [(x, y)].
Hypothesis off_plus : forall k l, nz k <> O -> nz l <> O ->
  (1 + u) * (off k + off l) + u * (size k + size l) <= off (k ++ l).
Hypothesis off_plus_one : forall p l, term p <> 0 -> nz l <> O -> (1 + u) * off l +
  u * (Rabs (term p) + size l) + INR (counted faint [p]) * eta <= off (p :: l).
Lemma off_right k l : off l <= off (k ++ l).
Proof. rewrite (off_perm (k ++ l) (l ++ k)) by apply Permutation_app_comm. apply off_left. Qed.
Lemma plus_off k l (a b : number) : Rabs (B2R a - tot k) <= off k ->
  Rabs (B2R b - tot l) <= off l ->
  Rabs (rnd (B2R a + B2R b) - tot (k ++ l)) <= off (k ++ l).
Proof.
  intros Ea Eb. rewrite tot_app.
  assert (G : forall z : number, rnd (B2R z) = B2R z) by (intros; apply round_generic;
    [apply valid_rnd_N|apply generic_format_B2R]).
  destruct (Nat.eq_dec (nz k) 0) as [N|Nk].
  { destruct (nz_null prec emax k N) as [_ T0]. rewrite (off_null k N), T0 in Ea.
    assert (H1 : B2R a = 0) by (apply null in Ea; lra). rewrite H1, T0, !Rplus_0_l, G.
    eapply Rle_trans; [exact Eb|apply off_right]. }
  destruct (Nat.eq_dec (nz l) 0) as [N|Nl].
  { destruct (nz_null prec emax l N) as [_ T0]. rewrite (off_null l N), T0 in Eb.
    assert (H1 : B2R b = 0) by (apply null in Eb; lra). rewrite H1, T0, !Rplus_0_r, G.
    eapply Rle_trans; [exact Ea|apply off_left]. }
  destruct (rnd_plus prec emax positive a b) as [d [Hd ->]].
  eapply Rle_trans; [|apply (off_plus k l Nk Nl)]. apply rounded_sum; auto.
  - replace (B2R a + B2R b - (tot k + tot l)) with ((B2R a - tot k) + (B2R b - tot l)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
  - eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; apply tot_size.
Qed.
Lemma fused_off x y l (a : number) : Rabs (B2R a - tot l) <= off l ->
  Rabs (rnd (B2R x * B2R y + B2R a) - tot ((x, y) :: l)) <= off ((x, y) :: l).
Proof.
  intros Ea. change (tot ((x, y) :: l)) with (B2R x * B2R y + tot l).
  destruct (Req_EM_T (B2R x * B2R y) 0) as [Nt|Nt].
  { rewrite Nt, !Rplus_0_l, round_generic by (try apply valid_rnd_N; apply generic_format_B2R).
    eapply Rle_trans; [exact Ea|exact (off_right [(x, y)] l)]. }
  destruct (Nat.eq_dec (nz l) 0) as [N|Nl].
  { destruct (nz_null prec emax l N) as [_ T0]. rewrite (off_null l N), T0 in Ea.
    assert (H1 : B2R a = 0) by (apply null in Ea; lra). rewrite H1, T0, !Rplus_0_r.
    eapply Rle_trans; [apply product_off|exact (off_left [(x, y)] l)]. }
  assert (D : exists d h, Rabs d <= u /\ Rabs h <= INR (counted faint [(x, y)]) * eta /\
    rnd (B2R x * B2R y + B2R a) = (B2R x * B2R y + B2R a) * (1 + d) + h).
  { unfold counted. cbn [filter fst snd]. destruct (Req_EM_T (B2R x * B2R y) 0) as [C|_];
      [contradiction|]. destruct (faint (x, y)) eqn:E.
    - destruct (rnd_any prec emax positive (B2R x * B2R y + B2R a)) as [d [h [Hd [Hh Q]]]].
      exists d, h. repeat split; auto. cbn [length INR]. lra.
    - destruct (clear_is _ E) as [P L]. cbn [snd] in P, L.
      destruct (by_power x y P) as [G|[C _]]; [|lra].
      destruct (FLT_plus_error_N_ex radix2 least prec (fun z => negb (Z.even z)) (B2R x * B2R y)
        (B2R a) G (generic_format_B2R prec emax a)) as [d [Hd Q]].
      exists d, 0. split; [|split; [rewrite Rabs_R0; cbn; lra|rewrite Rplus_0_r; exact Q]].
      rewrite u_ro_is in Hd. eapply Rle_trans; [exact Hd|]. pose proof (u_pos prec).
      apply Rmult_le_reg_r with (1 + u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      nra. }
  destruct D as [d [h [Hd [Hh ->]]]]. set (t := B2R x * B2R y) in *.
  replace ((t + B2R a) * (1 + d) + h - (t + tot l))
    with (((t + B2R a) * (1 + d) - (t + tot l)) + h) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat; [|exact Hh];
    apply (rounded_sum prec _ d _ (off l) (Rabs t + size l) Hd)|].
  - replace (t + B2R a - (t + tot l)) with (B2R a - tot l) by ring. exact Ea.
  - eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_l, tot_size.
  - pose proof (off_plus_one (x, y) l Nt Nl) as H. cbn [fst snd] in H. exact H.
Qed.
Theorem any_error l r : sums prec emax positive fits l r -> all_finite prec emax l ->
  size l + off l < bpow radix2 emax ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= off l.
Proof.
  assert (Below : forall c k, Rabs (c - tot k) <= off k -> size k + off k < bpow radix2 emax
    -> Rlt_bool (Rabs c) (bpow radix2 emax) = true).
  { intros c k H B. apply Rlt_bool_true. replace c with ((c - tot k) + tot k) by ring.
    eapply Rle_lt_trans; [apply Rabs_triang|]. pose proof (tot_size prec emax k). lra. }
  intros H. induction H as [|x y|k l a b Hk IHk Hl IHl|x y l a Hl IH|k l a HP Hk IH];
    intros HF HB.
  - split; auto. rewrite off_null by reflexivity. cbn. rewrite Rminus_0_r, Rabs_R0. lra.
  - inversion HF as [|p q [Fx Fy] _]; subst. cbn [fst snd] in Fx, Fy.
    assert (B : Rabs (rnd (B2R x * B2R y) - tot [(x, y)]) <= off [(x, y)]).
    { replace (tot [(x, y)]) with (B2R x * B2R y) by (cbn; ring). apply product_off. }
    pose proof (Bmult_correct prec emax _ _ mode_NE x y) as C.
    rewrite (Below _ _ B HB) in C. destruct C as [C1 [C2 _]]. rewrite Fx, Fy in C2.
    split; auto. rewrite C1. exact B.
  - apply Forall_app in HF as [Fk Fl]. pose proof (off_left k l). pose proof (off_right k l).
    pose proof (size_app prec emax k l). pose proof (size_pos prec emax k).
    pose proof (size_pos prec emax l).
    destruct IHk as [Fa Ea]; auto; [lra|]. destruct IHl as [Fb Eb]; auto; [lra|].
    pose proof (plus_off k l a b Ea Eb) as B.
    pose proof (Bplus_correct prec emax _ _ mode_NE a b Fa Fb) as C.
    rewrite (Below _ _ B HB) in C. destruct C as [C1 [C2 _]]. split; auto. rewrite C1. exact B.
  - inversion HF as [|p q [Fx Fy] Fl]; subst. cbn [fst snd] in Fx, Fy.
    pose proof (off_right [(x, y)] l : off l <= off ((x, y) :: l)).
    pose proof (size_app prec emax [(x, y)] l : size ((x, y) :: l) = size [(x, y)] + size l).
    pose proof (size_pos prec emax [(x, y)]).
    destruct IH as [Fa Ea]; auto; [lra|]. pose proof (fused_off x y l a Ea) as B.
    pose proof (Bfma_correct prec emax _ _ mode_NE x y a Fx Fy Fa) as C. cbv zeta in C.
    rewrite (Below _ _ B HB) in C. destruct C as [C1 [C2 _]]. split; auto. rewrite C1. exact B.
  - rewrite <- (tot_perm prec emax k l HP), <- (off_perm k l HP),
      <- (size_perm prec emax k l HP) in *.
    apply IH; auto. unfold all_finite in *. eapply Permutation_Forall; [apply Permutation_sym;
      exact HP|exact HF].
Qed.
End Bound.

(* ---------- a sum of products in any order, fused or not: Rounding.error ---------- *)
Definition error (rounds faint : nat) (s : R) : R := (grown rounds - 1) * s + INR faint * tiny.
Section Sum.
(* factors that are no powers of two, and those whose products may underflow *)
Variables odd faint : number * number -> bool.
Hypothesis even_is : forall p, odd p = false -> power (B2R (snd p)).
Hypothesis clear_is : forall p, faint p = false ->
  power (B2R (snd p)) /\ 1 <= Rabs (B2R (snd p)).
(* as real.terms_of counts them *)
Definition rounds l := (Nat.pred (nz l) + Nat.min 1 (counted odd l))%nat.
Definition sum_off l :=
  (grown (rounds l) - 1) * size l + INR (counted faint l) * (eta * grown (Nat.pred (nz l))).

Lemma off_null l : nz l = O -> sum_off l = 0.
Proof.
  intros N. unfold sum_off. destruct (nz_null prec emax l N) as [-> _].
  replace (counted faint l) with O by (pose proof (counted_few faint l); lia). cbn. ring.
Qed.
Lemma off_perm k l : Permutation k l -> sum_off k = sum_off l.
Proof.
  intros H. unfold sum_off, rounds.
  now rewrite (nz_perm prec emax k l H), (size_perm prec emax k l H), !(counted_perm _ k l H).
Qed.
Lemma grown_part a b s : (a <= b)%nat -> 0 <= s -> (grown a - 1) * s <= (grown b - 1) * s.
Proof. intros H. pose proof (grown_mono a b H). nra. Qed.
Lemma eta_part n a b : (a <= b)%nat -> INR n * (eta * grown a) <= INR n * (eta * grown b).
Proof.
  intros H. pose proof (grown_mono a b H). pose proof (eta_pos prec emax).
  apply Rmult_le_compat_l; [apply pos_INR|nra].
Qed.
Lemma eta_part_pos n a : 0 <= INR n * (eta * grown a).
Proof.
  pose proof (grown_1 a). pose proof (eta_pos prec emax).
  apply Rmult_le_pos; [apply pos_INR|nra].
Qed.
Lemma off_pos l : 0 <= sum_off l.
Proof.
  unfold sum_off. pose proof (grown_1 (rounds l)). pose proof (size_pos prec emax l).
  pose proof (eta_part_pos (counted faint l) (Nat.pred (nz l))). nra.
Qed.
Lemma off_left k l : sum_off k <= sum_off (k ++ l).
Proof.
  unfold sum_off, rounds. rewrite !counted_app, nz_app, size_app, plus_INR, Rmult_plus_distr_l,
    (Rmult_plus_distr_r (INR _)).
  pose proof (size_pos prec emax k). pose proof (size_pos prec emax l) as L.
  set (R := (Nat.pred (nz k + nz l) + Nat.min 1 (counted odd k + counted odd l))%nat).
  pose proof (grown_1 R). pose proof (eta_part_pos (counted faint l) (Nat.pred (nz k + nz l))).
  pose proof (grown_part (Nat.pred (nz k) + Nat.min 1 (counted odd k)) R (size k)
    ltac:(unfold R; lia) ltac:(lra)).
  pose proof (eta_part (counted faint k) (Nat.pred (nz k)) (Nat.pred (nz k + nz l)) ltac:(lia)).
  assert (0 <= (grown R - 1) * size l) by nra. lra.
Qed.
(* both parts have terms: one rounding more *)
Lemma off_plus k l : nz k <> O -> nz l <> O ->
  (1 + u) * (sum_off k + sum_off l) + u * (size k + size l) <= sum_off (k ++ l).
Proof.
  intros Nk Nl. assert (One : forall m n, nz m <> O -> (S (Nat.pred (nz m)) <= Nat.pred n)%nat ->
    forall R, (S (rounds m) <= R)%nat -> (1 + u) * sum_off m + u * size m <=
      (grown R - 1) * size m + INR (counted faint m) * (eta * grown (Nat.pred n))).
  { intros m n Nm H R HR. unfold sum_off. pose proof (size_pos prec emax m) as P.
    pose proof (grown_part _ _ _ HR P) as A. pose proof (eta_part (counted faint m) _ _ H) as B.
    unfold grown in A, B at 1. cbn [pow] in A, B. fold (grown (rounds m)) in A.
    fold (grown (Nat.pred (nz m))) in B. unfold grown in *. lra. }
  set (n := (nz k + nz l)%nat). set (R := rounds (k ++ l)).
  assert (HR : R = (Nat.pred n + Nat.min 1 (counted odd k + counted odd l))%nat).
  { unfold R, rounds, n. now rewrite counted_app, nz_app. }
  pose proof (One k n Nk ltac:(unfold n; lia) R ltac:(unfold rounds; lia)).
  pose proof (One l n Nl ltac:(unfold n; lia) R ltac:(unfold rounds; lia)).
  unfold sum_off at 3. fold R. rewrite counted_app, nz_app, size_app, plus_INR. fold n. lra.
Qed.
Lemma product_off x y : Rabs (rnd (B2R x * B2R y) - B2R x * B2R y) <= sum_off [(x, y)].
Proof.
  unfold sum_off, rounds, counted, AnyOrder.size. cbn [nz filter fold_right fst snd].
  destruct (Req_EM_T (B2R x * B2R y) 0) as [N|N].
  { rewrite N, round_0, Rminus_0_r, Rabs_R0 by apply valid_rnd_N. cbn. lra. }
  pose proof (eta_pos prec emax). pose proof (u_pos prec). pose proof (Rabs_pos (B2R x * B2R y)).
  assert (F : faint (x, y) = false -> rnd (B2R x * B2R y) - B2R x * B2R y = 0).
  { intros E. destruct (clear_is _ E) as [P L]. cbn in P, L.
    destruct (by_power x y P) as [G|[C _]]; [|lra].
    rewrite round_generic by (try apply valid_rnd_N; exact G). ring. }
  assert (O : odd (x, y) = false -> Rabs (rnd (B2R x * B2R y) - B2R x * B2R y) <= eta).
  { intros E. destruct (by_power x y (even_is _ E)) as [G|[_ C]]; [|exact C].
    rewrite round_generic, Rminus_eq_0, Rabs_R0 by (try apply valid_rnd_N; exact G). lra. }
  pose proof (rounding_error (B2R x * B2R y)) as Q.
  set (t := B2R x * B2R y) in *. set (q := rnd t - t) in *. clearbody q t.
  destruct (faint (x, y)); [|rewrite F, Rabs_R0 by reflexivity];
    destruct (odd (x, y)); cbn; unfold grown; cbn; try specialize (O eq_refl); nra.
Qed.
(* one term more, fused: its product is not rounded, but may underflow *)
Lemma off_plus_one p l : term p <> 0 -> nz l <> O -> (1 + u) * sum_off l +
  u * (Rabs (term p) + size l) + INR (counted faint [p]) * eta <= sum_off (p :: l).
Proof.
  intros Np Nl. unfold sum_off, rounds. rewrite (counted_cons faint p l), (counted_cons odd p l),
    plus_INR.
  cbn [AnyOrder.nz]. destruct (Req_EM_T (term p) 0); [contradiction|].
  change (size (p :: l)) with (Rabs (term p) + size l). cbn [Nat.pred].
  pose proof (size_pos prec emax l) as P. pose proof (Rabs_pos (term p)) as T.
  set (f := counted faint [p]). set (g := counted faint l). set (o := counted odd [p]).
  set (R := (nz l + Nat.min 1 (o + counted odd l))%nat).
  set (r := (Nat.pred (nz l) + Nat.min 1 (counted odd l))%nat).
  pose proof (grown_part (S r) R (size l) ltac:(unfold r, R; lia) P) as A.
  pose proof (grown_part 1 R (Rabs (term p)) ltac:(unfold R; lia) T) as B.
  assert (C : INR g * (eta * grown (S (Nat.pred (nz l)))) <= INR g * (eta * grown (nz l))) by
    (apply eta_part; lia).
  assert (D : INR f * (eta * grown 0) <= INR f * (eta * grown (nz l))) by (apply eta_part; lia).
  change (grown (S r)) with ((1 + u) * grown r) in A. change (grown 0) with 1 in D.
  change (grown 1) with ((1 + u) * 1) in B.
  change (grown (S (Nat.pred (nz l)))) with ((1 + u) * grown (Nat.pred (nz l))) in C. lra.
Qed.
Theorem sum_error l r : sums prec emax positive fits l r -> all_finite prec emax l ->
  size l + sum_off l < bpow radix2 emax ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= sum_off l.
Proof.
  apply (any_error faint sum_off clear_is off_null off_perm off_left product_off off_plus
    off_plus_one).
Qed.
Lemma sum_off_formula l R F s : (rounds l <= R)%nat -> (counted faint l <= F)%nat -> size l <= s ->
  INR (nz l) * u <= / 2 -> sum_off l <= error R F s.
Proof.
  intros HR HF HS HN. unfold sum_off, error. rewrite tiny_is.
  pose proof (size_pos prec emax l). pose proof (grown_1 R). pose proof (eta_pos prec emax).
  pose proof (grown_part (rounds l) R (size l) HR ltac:(lra)). pose proof (u_pos prec).
  apply le_INR in HF. pose proof (pos_INR (counted faint l)).
  assert (G : grown (Nat.pred (nz l)) <= 2).
  { apply grown_2. eapply Rle_trans; [|exact HN]. apply Rmult_le_compat_r; [lra|].
    apply le_INR. lia. }
  pose proof (grown_1 (Nat.pred (nz l))).
  assert ((grown R - 1) * size l <= (grown R - 1) * s) by nra.
  assert (INR (counted faint l) * (eta * grown (Nat.pred (nz l))) <= INR F * (2 * eta)) by
    (apply Rmult_le_compat; nra). lra.
Qed.
(* Rounding.error with the counts of real.terms_of: no order overflows, and none errs by more *)
Theorem sum_formula l r R F s : sums prec emax positive fits l r -> all_finite prec emax l ->
  (rounds l <= R)%nat -> (counted faint l <= F)%nat -> size l <= s -> INR (nz l) * u <= / 2 ->
  s + error R F s < bpow radix2 emax ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= error R F s.
Proof.
  intros H HF HR HC HS HN HB. pose proof (sum_off_formula l R F s HR HC HS HN).
  destruct (sum_error l r H HF) as [Fr Er]; [lra|]. split; auto. lra.
Qed.
End Sum.
Definition always (p : number * number) : bool := true.
Lemma never {P : number * number -> Prop} p : always p = false -> P p.
Proof. discriminate. Qed.
(* Format.mixed, Format.linear, Sums.dot: whatever the factors are *)
Theorem any_sum_formula l r n s : sums prec emax positive fits l r -> all_finite prec emax l ->
  (length l <= n)%nat -> size l <= s -> INR n * u <= / 2 -> s + error n n s < bpow radix2 emax ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= error n n s.
Proof.
  intros H HF HL HS HN HB. pose proof (nz_le prec emax l) as L. pose proof (u_pos prec).
  apply (sum_formula always always never never); auto.
  - pose proof (counted_few always l). unfold rounds. lia.
  - pose proof (counted_few always l). lia.
  - eapply Rle_trans; [|exact HN]. apply Rmult_le_compat_r; [lra|]. apply le_INR. lia.
Qed.

(* ---------- an average: Format.averaged, by the size of the largest term ---------- *)
Definition peak (l : list (number * number)) : R :=
  fold_right (fun p m => Rmax (Rabs (term p)) m) 0 l.
Lemma peak_pos l : 0 <= peak l.
Proof. induction l; cbn; [lra|]. eapply Rle_trans; [exact IHl|apply Rmax_r]. Qed.
Lemma peak_app k l : peak (k ++ l) = Rmax (peak k) (peak l).
Proof.
  induction k as [|p k IH]; cbn; [symmetry; apply Rmax_right, peak_pos|].
  fold (peak (k ++ l)) (peak k). now rewrite IH, Rmax_assoc.
Qed.
Lemma peak_perm k l : Permutation k l -> peak k = peak l.
Proof.
  intros H. unfold peak. induction H as [|p k l H IH|p q l|k l m H1 IH1 H2 IH2];
    cbn [fold_right]; try congruence.
  now rewrite !Rmax_assoc, (Rmax_comm (Rabs (term p))).
Qed.
Lemma size_peak l : size l <= INR (nz l) * peak l.
Proof.
  unfold AnyOrder.size. induction l as [|p l IH]; cbn [fold_right AnyOrder.nz]; [cbn; lra|].
  change (peak (p :: l)) with (Rmax (Rabs (term p)) (peak l)).
  pose proof (Rmax_l (Rabs (term p)) (peak l)). pose proof (Rmax_r (Rabs (term p)) (peak l)).
  set (m := Rmax _ _) in *. pose proof (pos_INR (nz l)). fold (size l) in *.
  assert (INR (nz l) * peak l <= INR (nz l) * m) by (apply Rmult_le_compat_l; lra).
  destruct (Req_EM_T (term p) 0) as [E|_]; [rewrite E, Rabs_R0; lra|]. rewrite S_INR. lra.
Qed.
(* products, and partial sums of 2, 3, ... n terms *)
Definition nodes (n : nat) : R := match n with O => 0 | S _ => INR n * (INR n + 3) / 2 - 1 end.
Definition tree_off l := (u * peak l * nodes (nz l) + INR (nz l) * eta) * grown (Nat.pred (nz l)).
Lemma nodes_step n : 0 <= nodes n <= nodes (S n).
Proof. destruct n; cbn [nodes]; rewrite ?S_INR; [cbn; lra|]. pose proof (pos_INR n). nra. Qed.
Lemma nodes_mono p n : (p <= n)%nat -> nodes p <= nodes n.
Proof. intros H. induction H; [lra|]. pose proof (nodes_step m). lra. Qed.
Lemma nodes_plus p q : p <> O -> q <> O ->
  nodes p + nodes q + (INR p + INR q) <= nodes (p + q).
Proof.
  intros Hp Hq. destruct p as [|p]; [lia|]. destruct q as [|q]; [lia|].
  change (S p + S q)%nat with (S (p + S q)). cbn [nodes].
  change (S (p + S q)) with (S p + S q)%nat. rewrite plus_INR, !S_INR.
  pose proof (pos_INR p). pose proof (pos_INR q). nra.
Qed.
Lemma tree_null l : nz l = O -> tree_off l = 0.
Proof. intros N. unfold tree_off. rewrite N. cbn. ring. Qed.
Lemma tree_perm k l : Permutation k l -> tree_off k = tree_off l.
Proof.
  intros H. unfold tree_off. now rewrite (nz_perm prec emax k l H), (peak_perm k l H).
Qed.
Lemma tree_mono a b m n : 0 <= a <= b -> (m <= n)%nat ->
  (u * a * nodes m + INR m * eta) * grown (Nat.pred m) <=
  (u * b * nodes n + INR n * eta) * grown (Nat.pred n).
Proof.
  intros Ha H. pose proof (u_pos prec). pose proof (eta_pos prec emax).
  pose proof (nodes_mono m n H). pose proof (proj1 (nodes_step m)).
  pose proof (grown_mono (Nat.pred m) (Nat.pred n) ltac:(lia)). pose proof (grown_1 (Nat.pred m)).
  apply le_INR in H. pose proof (pos_INR m).
  assert (0 <= u * a <= u * b) by nra.
  assert (0 <= u * a * nodes m <= u * b * nodes n).
  { split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra]. }
  assert (0 <= INR m * eta <= INR n * eta) by nra. apply Rmult_le_compat; lra.
Qed.
Lemma tree_left k l : tree_off k <= tree_off (k ++ l).
Proof.
  unfold tree_off. rewrite nz_app, peak_app. apply tree_mono; [|lia].
  split; [apply peak_pos|apply Rmax_l].
Qed.
Lemma tree_right k l : tree_off l <= tree_off (k ++ l).
Proof. rewrite (tree_perm (k ++ l) (l ++ k)) by apply Permutation_app_comm. apply tree_left. Qed.
(* p and q terms of at most m *)
Lemma tree_parts m p q s : p <> O -> q <> O -> 0 <= m -> s <= INR (p + q) * m ->
  (1 + u) * ((u * m * nodes p + INR p * eta) * grown (Nat.pred p) +
    (u * m * nodes q + INR q * eta) * grown (Nat.pred q)) + u * s <=
  (u * m * nodes (p + q) + INR (p + q) * eta) * grown (Nat.pred (p + q)).
Proof.
  intros Hp Hq Hm Hs. pose proof (u_pos prec) as U. pose proof (eta_pos prec emax) as T.
  pose proof (nodes_plus p q Hp Hq) as N. pose proof (proj1 (nodes_step p)) as Np.
  pose proof (proj1 (nodes_step q)) as Nq. pose proof (pos_INR p) as Pp.
  pose proof (pos_INR q) as Pq. rewrite plus_INR in *. set (G := grown (Nat.pred (p + q))).
  assert (Gp : (1 + u) * grown (Nat.pred p) <= G) by (apply (grown_mono (S (Nat.pred p))); lia).
  assert (Gq : (1 + u) * grown (Nat.pred q) <= G) by (apply (grown_mono (S (Nat.pred q))); lia).
  pose proof (grown_1 (Nat.pred (p + q))) as G1. fold G in G1.
  assert (um : 0 <= u * m) by (apply Rmult_le_pos; lra).
  set (A := u * m * nodes p + INR p * eta). set (B := u * m * nodes q + INR q * eta).
  assert (A0 : 0 <= A) by (unfold A; apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra).
  assert (B0 : 0 <= B) by (unfold B; apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra).
  apply Rle_trans with (A * G + B * G + u * m * (INR p + INR q) * G).
  - assert (A * ((1 + u) * grown (Nat.pred p)) <= A * G) by (apply Rmult_le_compat_l; lra).
    assert (B * ((1 + u) * grown (Nat.pred q)) <= B * G) by (apply Rmult_le_compat_l; lra).
    assert (X : 0 <= u * m * (INR p + INR q)) by (apply Rmult_le_pos; lra).
    assert (u * s <= u * m * (INR p + INR q)).
    { replace (u * m * (INR p + INR q)) with (u * ((INR p + INR q) * m)) by ring.
      apply Rmult_le_compat_l; lra. }
    assert (u * m * (INR p + INR q) * 1 <= u * m * (INR p + INR q) * G) by
      (apply Rmult_le_compat_l; lra). lra.
  - replace (A * G + B * G + u * m * (INR p + INR q) * G) with
      ((u * m * (nodes p + nodes q + (INR p + INR q)) + (INR p + INR q) * eta) * G) by
      (unfold A, B; ring).
    apply Rmult_le_compat_r; [lra|]. apply Rplus_le_compat_r. apply Rmult_le_compat_l; lra.
Qed.
Lemma tree_plus k l : nz k <> O -> nz l <> O ->
  (1 + u) * (tree_off k + tree_off l) + u * (size k + size l) <= tree_off (k ++ l).
Proof.
  intros Nk Nl. unfold tree_off at 3. rewrite nz_app. set (m := peak (k ++ l)).
  assert (Mk : peak k <= m) by (unfold m; rewrite peak_app; apply Rmax_l).
  assert (Ml : peak l <= m) by (unfold m; rewrite peak_app; apply Rmax_r).
  eapply Rle_trans; [|apply (tree_parts m (nz k) (nz l) (size k + size l) Nk Nl)].
  - pose proof (tree_mono (peak k) m (nz k) (nz k) (conj (peak_pos k) Mk) (le_n _)) as A.
    pose proof (tree_mono (peak l) m (nz l) (nz l) (conj (peak_pos l) Ml) (le_n _)) as B.
    fold (tree_off k) in A. fold (tree_off l) in B. pose proof (u_pos prec).
    apply Rplus_le_compat_r. apply Rmult_le_compat_l; lra.
  - apply peak_pos.
  - rewrite <- size_app, <- nz_app. apply size_peak.
Qed.
Lemma tree_product x y : Rabs (rnd (B2R x * B2R y) - B2R x * B2R y) <= tree_off [(x, y)].
Proof.
  unfold tree_off, peak. cbn [AnyOrder.nz fold_right fst snd].
  destruct (Req_EM_T (B2R x * B2R y) 0) as [N|N].
  { rewrite N, round_0, Rminus_0_r, Rabs_R0 by apply valid_rnd_N. cbn. lra. }
  pose proof (rounding_error (B2R x * B2R y)) as Q. rewrite Rmax_left by apply Rabs_pos.
  set (v := Rabs (rnd _ - _)) in *. set (t := Rabs (B2R x * B2R y)) in *. clearbody v t.
  unfold grown. cbn. lra.
Qed.
Lemma tree_plus_one p l : term p <> 0 -> nz l <> O -> (1 + u) * tree_off l +
  u * (Rabs (term p) + size l) + INR (counted always [p]) * eta <= tree_off (p :: l).
Proof.
  intros Np Nl. assert (N1 : nz [p] = 1%nat) by (cbn [AnyOrder.nz]; destruct Req_EM_T;
    [contradiction|reflexivity]).
  assert (C1 : INR (counted always [p]) = 1).
  { unfold counted. cbn [filter]. destruct Req_EM_T; [contradiction|]. reflexivity. }
  assert (S1 : size [p] = Rabs (term p)) by (unfold AnyOrder.size; cbn [fold_right]; ring).
  pose proof (tree_plus [p] l ltac:(rewrite N1; discriminate) Nl) as H. rewrite S1 in H.
  change ([p] ++ l) with (p :: l) in H. rewrite C1.
  assert (T : eta <= tree_off [p]).
  { unfold tree_off. rewrite N1. cbn [Nat.pred nodes INR]. unfold grown. cbn [pow].
    pose proof (peak_pos [p]). pose proof (u_pos prec). pose proof (eta_pos prec emax).
    assert (0 <= u * peak [p]) by (apply Rmult_le_pos; lra). lra. }
  pose proof (u_pos prec). pose proof (eta_pos prec emax).
  assert (0 <= u * tree_off [p]) by (apply Rmult_le_pos; lra). lra.
Qed.
Theorem average_formula l r n largest : sums prec emax positive fits l r ->
  all_finite prec emax l ->
  (nz l <= n)%nat -> peak l <= largest -> INR n * u <= / 2 ->
  let off := u * grown (S n) * (largest * INR n * (INR n + 3) / 2) + INR n * tiny in
  INR n * largest + off < bpow radix2 emax ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= off.
Proof.
  intros H HF HN HP HU off HB. pose proof (u_pos prec) as U. pose proof (eta_pos prec emax) as T.
  assert (K : tree_off l <= off).
  { unfold tree_off. eapply Rle_trans; [apply (tree_mono (peak l) largest (nz l) n
      (conj (peak_pos l) HP) HN)|]. unfold off. rewrite tiny_is.
    pose proof (peak_pos l). pose proof (pos_INR n).
    assert (G2 : grown (Nat.pred n) <= 2).
    { apply grown_2. eapply Rle_trans; [|exact HU]. apply Rmult_le_compat_r; [lra|].
      apply le_INR. lia. }
    pose proof (grown_mono (Nat.pred n) (S n) ltac:(lia)) as G.
    pose proof (grown_1 (Nat.pred n)) as G1.
    assert (N : 0 <= nodes n <= INR n * (INR n + 3) / 2).
    { split; [apply nodes_step|]. destruct n; cbn [nodes]; [cbn; lra|lra]. }
    assert (V : 0 <= u * largest) by (apply Rmult_le_pos; lra).
    rewrite Rmult_plus_distr_r. apply Rplus_le_compat.
    - replace (u * grown (S n) * (largest * INR n * (INR n + 3) / 2)) with
        (u * largest * (INR n * (INR n + 3) / 2) * grown (S n)) by (unfold Rdiv; ring).
      apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra| |exact G].
      apply Rmult_le_compat_l; lra.
    - rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|]. rewrite (Rmult_comm 2).
      apply Rmult_le_compat_l; lra. }
  destruct (any_error always tree_off (@never _) tree_null tree_perm tree_left tree_product
    tree_plus tree_plus_one l r H HF) as [Fr Er]; [|split; [exact Fr|lra]].
  pose proof (size_peak l) as S. pose proof (peak_pos l). apply le_INR in HN.
  pose proof (pos_INR (nz l)).
  assert (INR (nz l) * peak l <= INR n * largest) by (apply Rmult_le_compat; lra). lra.
Qed.

(* ---------- sums that no order rounds: Sums._exact, Affine.linear ---------- *)
Section Whole.
Variable k : Z.
Hypothesis not_below : (least <= k)%Z.
Definition multiple (x : R) : Prop := exists z, x = IZR z * bpow radix2 k.
Lemma multiple_plus x y : multiple x -> multiple y -> multiple (x + y).
Proof. intros [a ->] [b ->]. exists (a + b)%Z. rewrite plus_IZR. ring. Qed.
Lemma multiple_tot l : Forall (fun p => multiple (term p)) l -> multiple (tot l).
Proof.
  unfold AnyOrder.tot. intros H. induction H; cbn [fold_right].
  - exists 0%Z. ring.
  - now apply multiple_plus.
Qed.
Lemma multiple_kept x : multiple x -> Rabs x < bpow radix2 (k + prec) -> rnd x = x.
Proof.
  intros [z ->] H. apply round_generic; [apply valid_rnd_N|]. now apply multiples_held.
Qed.
Theorem exact_formula l r : sums prec emax positive fits l r -> all_finite prec emax l ->
  Forall (fun p => multiple (term p)) l -> size l < bpow radix2 (k + prec) ->
  size l < bpow radix2 emax -> is_finite r = true /\ B2R r = tot l.
Proof.
  assert (Kept : forall l, Forall (fun p => multiple (term p)) l -> size l < bpow radix2 (k + prec)
    -> size l < bpow radix2 emax -> rnd (tot l) = tot l /\
    Rlt_bool (Rabs (rnd (tot l))) (bpow radix2 emax) = true).
  { intros m HM HK HE. pose proof (tot_size prec emax m).
    rewrite multiple_kept by (try apply multiple_tot; auto; lra). split; auto.
    apply Rlt_bool_true. lra. }
  intros H. induction H as [|x y|m l a b Hk IHk Hl IHl|x y l a Hl IH|m l a HP Hk IH];
    intros HF HM HK HE.
  - split; reflexivity.
  - inversion HF as [|p q [Fx Fy] _]; subst. cbn [fst snd] in Fx, Fy.
    destruct (Kept _ HM HK HE) as [K1 K2].
    replace (tot [(x, y)]) with (B2R x * B2R y) in * by (cbn; ring).
    pose proof (Bmult_correct prec emax _ _ mode_NE x y) as C. rewrite K2 in C.
    destruct C as [C1 [C2 _]]. rewrite Fx, Fy in C2. split; auto. now rewrite C1.
  - destruct (Kept _ HM HK HE) as [K1 K2]. apply Forall_app in HF as [Fk Fl].
    apply Forall_app in HM as [Mk Ml]. rewrite size_app in *. rewrite tot_app in *.
    pose proof (size_pos prec emax m). pose proof (size_pos prec emax l).
    destruct IHk as [Fa Ea]; auto; [lra|lra|]. destruct IHl as [Fb Eb]; auto; [lra|lra|].
    pose proof (Bplus_correct prec emax _ _ mode_NE a b Fa Fb) as C.
    rewrite Ea, Eb, K2 in C. destruct C as [C1 [C2 _]]. split; auto. now rewrite C1.
  - destruct (Kept _ HM HK HE) as [K1 K2]. inversion HF as [|p q [Fx Fy] Fl]; subst.
    inversion HM as [|p q _ Ml]; subst. cbn [fst snd] in Fx, Fy.
    pose proof (size_app prec emax [(x, y)] l : size ((x, y) :: l) = size [(x, y)] + size l).
    pose proof (size_pos prec emax [(x, y)]).
    change (tot ((x, y) :: l)) with (B2R x * B2R y + tot l) in *.
    destruct IH as [Fa Ea]; auto; [lra|lra|].
    pose proof (Bfma_correct prec emax _ _ mode_NE x y a Fx Fy Fa) as C. cbv zeta in C.
    rewrite Ea, K2 in C. destruct C as [C1 [C2 _]]. split; auto. now rewrite C1.
  - rewrite <- (tot_perm prec emax m l HP), <- (size_perm prec emax m l HP) in *.
    apply IH; auto; unfold all_finite in *; eapply Permutation_Forall;
      try (apply Permutation_sym; exact HP); assumption.
Qed.
End Whole.

(* ---------- a quotient, or a product with a rounded reciprocal ---------- *)
Definition normal := bpow radix2 (2 - emax).     (* Format.normal, the least normal number *)
Definition divided (e s q : R) : Prop := q = rnd (e / s) \/ q = rnd (e * rnd (/ s)).
Lemma eta_normal : eta <= normal.
Proof. unfold AnyOrder.eta, normal. apply bpow_le. red in positive. lia. Qed.
Theorem reciprocal_error s : 0 < s <= bpow radix2 (emax - 2) ->
  Rabs (rnd (/ s) - / s) <= u * / s.
Proof.
  intros [P L]. pose proof (Rinv_0_lt_compat s P) as I.
  assert (N : bpow radix2 (least + prec - 1) <= Rabs (/ s)).
  { rewrite Rabs_pos_eq by lra. replace (least + prec - 1)%Z with (- (emax - 2))%Z by lia.
    rewrite bpow_opp. apply Rinv_le; lra. }
  pose proof (relative_error_N_FLT radix2 least prec positive (fun z => negb (Z.even z)) _ N) as H.
  rewrite (Rabs_pos_eq (/ s)) in H by lra. eapply Rle_trans; [exact H|]. right. f_equal.
  rewrite <- (u_ro_is prec). reflexivity.
Qed.
Theorem weight_division e s q : 0 <= e -> 0 < s <= bpow radix2 (emax - 2) -> divided e s q ->
  Rabs (q - e / s) <= (grown 2 - 1) * (e / s) + eta.
Proof.
  intros He Hs H. pose proof (u_pos prec). pose proof (Rinv_0_lt_compat s (proj1 Hs)) as I.
  assert (W : 0 <= e / s) by (apply Rmult_le_pos; lra). unfold grown. cbn [pow].
  destruct H as [-> | ->].
  - eapply Rle_trans; [apply rounding_error|]. rewrite Rabs_pos_eq by exact W. nra.
  - pose proof (reciprocal_error s Hs) as Q. pose proof (rounding_error (e * rnd (/ s))) as Q2.
    set (r := rnd (/ s)) in *. set (v := rnd (e * r)) in *. unfold Rdiv in *.
    assert (D : Rabs (e * r - e * / s) <= u * (e * / s)).
    { rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_pos_eq e) by lra.
      replace (u * (e * / s)) with (e * (u * / s)) by ring. now apply Rmult_le_compat_l. }
    replace (v - e * / s) with ((v - e * r) + (e * r - e * / s)) by ring.
    eapply Rle_trans; [apply Rabs_triang|].
    assert (B : Rabs (e * r) <= (1 + u) * (e * / s)).
    { replace (e * r) with ((e * r - e * / s) + e * / s) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_pos_eq (e * / s)) by exact W. lra. }
    assert (u * Rabs (e * r) <= u * ((1 + u) * (e * / s))) by (apply Rmult_le_compat_l; lra). nra.
Qed.
End Format.

(* ---------- exponentials ---------- *)
Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; now apply exp_increasing|right; reflexivity]. Qed.
Lemma exp_ge_1 x : 0 <= x -> 1 <= exp x.
Proof. intros H. rewrite <- exp_0. now apply exp_le. Qed.
Lemma exp_off x y : Rabs x <= y -> Rabs (exp x - 1) <= exp y - 1.
Proof.
  intros H. apply Rabs_le_inv in H. assert (Y : 0 <= y) by lra.
  pose proof (exp_le x y ltac:(lra)). pose proof (exp_le (- y) x ltac:(lra)).
  pose proof (exp_pos y). assert (E : exp y * exp (- y) = 1) by (rewrite <- exp_plus, Rplus_opp_r;
    apply exp_0).
  pose proof (exp_pos (- y)). pose proof (exp_ge_1 y Y).
  apply Rabs_le. split; [|lra]. assert (2 - exp y <= exp (- y)); [|lra]. nra.
Qed.
Lemma exp_small x : 0 <= x <= / 64 -> exp x - 1 <= 64 / 63 * x.
Proof.
  intros H. pose proof (exp_ineq1_le (- x)). pose proof (exp_pos x).
  assert (E : exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (exp x * (1 - x) <= 1) by nra. nra.
Qed.
Lemma exp_two x : 0 <= x <= / 16 -> exp x <= 2.
Proof.
  intros H. pose proof (exp_ineq1_le (- x)). pose proof (exp_pos x).
  assert (exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0). nra.
Qed.
Lemma inverse_exp x : 0 <= x <= / 63 -> / (1 - x) <= exp (102 / 100 * x).
Proof.
  intros H. pose proof (exp_ineq1_le (102 / 100 * x)).
  apply Rmult_le_reg_r with (1 - x); [lra|]. rewrite Rinv_l by lra. nra.
Qed.

(* ---------- a weight of softmax, in real numbers ---------- *)
(* e of s for E of Z: relative errors a and beta, absolute ones N and M *)
Section Weight.
Variables E Z e s q a beta b N M h : R.
Hypotheses (HE : 0 <= E <= Z) (HZ : 1 <= Z) (He : 0 <= e) (Ha : 0 <= a <= / 63)
  (Hbeta : 0 <= beta <= / 63) (Hb : 0 <= b <= / 63) (HN : 0 <= N) (HM : 0 <= M <= / 1024)
  (Up : e <= E * (1 + a) + N) (Down : E * (1 - a) - N <= e)
  (Low : (1 - beta) * (Z * (1 - a) - M) <= s) (High : s <= (1 + beta) * (Z * (1 + a) + M))
  (Q : Rabs (q - e / s) <= b * (e / s) + h).
Local Notation w := (E / Z).
Lemma w_in : 0 <= w <= 1 /\ E = w * Z.
Proof.
  assert (EZ : E = w * Z) by (field; lra). split; [|exact EZ].
  pose proof (Rinv_0_lt_compat Z ltac:(lra)). split; [apply Rmult_le_pos; lra|].
  apply Rmult_le_reg_r with Z; lra.
Qed.
Lemma inside : 98 / 100 <= Z * (1 - a) - M.
Proof. nra. Qed.
Lemma s_pos : 0 < s. Proof. pose proof inside. nra. Qed.
Lemma ratio_up : e / s <=
  (1 + a) * / (1 - a) * / (1 - beta) * (w + (11 / 10 * M + 11 / 10 * N)).
Proof.
  destruct w_in as [W EZ]. pose proof inside as I. pose proof s_pos as S.
  set (D := Z * (1 - a) - M) in *. set (c := 11 / 10 * M + 11 / 10 * N).
  apply Rle_trans with ((E * (1 + a) + N) / ((1 - beta) * D)).
  { unfold Rdiv. assert (0 < (1 - beta) * D) by (clear - I Hbeta; nra).
    apply Rmult_le_compat; auto.
    - left. now apply Rinv_0_lt_compat.
    - apply Rinv_le; auto. }
  assert (K : (E * (1 + a) + N) * (1 - a) <= (1 + a) * (w + c) * D).
  { rewrite EZ at 1. assert (C : N <= - (w * M) + c * D) by (unfold c; nra).
    replace ((1 + a) * (w + c) * D) with
      ((1 + a) * (w * Z * (1 - a)) + (1 + a) * (- (w * M) + c * D)) by (unfold D; ring).
    assert (0 <= (1 + a) * (- (w * M) + c * D) - N) by nra. nra. }
  replace ((E * (1 + a) + N) / ((1 - beta) * D)) with
    ((E * (1 + a) + N) * (1 - a) * (/ (1 - a) * / (1 - beta) * / D)) by (field; lra).
  replace ((1 + a) * / (1 - a) * / (1 - beta) * (w + c)) with
    ((1 + a) * (w + c) * D * (/ (1 - a) * / (1 - beta) * / D)) by (field; lra).
  apply Rmult_le_compat_r; [|exact K].
  assert (0 < / (1 - a)) by (apply Rinv_0_lt_compat; lra).
  assert (0 < / (1 - beta)) by (apply Rinv_0_lt_compat; lra).
  assert (0 < / D) by (apply Rinv_0_lt_compat; lra).
  apply Rmult_le_pos; [apply Rmult_le_pos|]; lra.
Qed.
Lemma ratio_down : w * (1 - 2 * a - beta) - M - N <= e / s.
Proof.
  destruct w_in as [W EZ]. pose proof s_pos as S. set (K := 1 - 2 * a - beta).
  assert (K0 : 0 <= K <= 1) by (unfold K; lra).
  assert (D0 : 0 <= e / s) by (apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]).
  destruct (Rle_lt_dec (w * K - M - N) 0) as [L|L]; [lra|].
  apply Rmult_le_reg_r with s; [exact S|]. replace (e / s * s) with e by (field; lra).
  eapply Rle_trans; [apply Rmult_le_compat_l; [lra|exact High]|]. eapply Rle_trans; [|exact Down].
  assert (C : (1 + beta) * (1 + a) * K <= 1 - a) by
    (unfold K; clear - Ha Hbeta; nra).
  assert (T : Z * w * ((1 + beta) * (1 + a) * K) <= Z * w * (1 - a)) by
    (apply Rmult_le_compat_l; [clear - W HZ; nra|exact C]).
  assert (wK : 0 <= w * K <= 1) by (clear - W K0; nra).
  assert (V : 1 <= Z * (1 + a) + M) by (clear - HZ Ha HM; nra). set (B := Z * (1 + a) + M) in *.
  replace ((w * K - M - N) * ((1 + beta) * B)) with
    (Z * w * ((1 + beta) * (1 + a) * K) + ((1 + beta) * (M * (w * K)) - (1 + beta) * (B * (M +
      N))))
    by (unfold B; ring).
  replace (E * (1 - a) - N) with (Z * w * (1 - a) + - N) by
    (rewrite (Rmult_comm Z), <- EZ; ring).
  apply Rplus_le_compat; [exact T|].
  set (x := w * K) in *. clearbody x B. clear - wK V HM HN Hbeta.
  assert (M * x <= M) by nra. assert (M + N <= B * (M + N)) by nra. nra.
Qed.
Lemma weight_up U : (1 + b) * ((1 + a) * / (1 - a) * / (1 - beta)) <= U -> U <= 2 ->
  q <= U * w + 3 * (M + N) + h.
Proof.
  intros HU U2. destruct w_in as [W _]. pose proof ratio_up as R. apply Rabs_le_inv in Q.
  set (F := (1 + a) * / (1 - a) * / (1 - beta)) in *.
  set (r := e / s) in *. clearbody F r. assert (q <= (1 + b) * r + h) by lra.
  assert ((1 + b) * r <= (1 + b) * (F * (w + (11 / 10 * M + 11 / 10 * N)))) by
    (apply Rmult_le_compat_l; lra).
  assert ((1 + b) * F * (w + (11 / 10 * M + 11 / 10 * N)) <= U * (w + (11 / 10 * M + 11 / 10 *
    N))) by
    (apply Rmult_le_compat_r; lra).
  assert (U * (11 / 10 * M + 11 / 10 * N) <= 2 * (11 / 10 * M + 11 / 10 * N)) by
    (apply Rmult_le_compat_r; lra). lra.
Qed.
Lemma weight_down : w * (1 - (2 * a + beta + b)) - (M + N) - h <= q.
Proof.
  destruct w_in as [W _]. pose proof ratio_down as R. apply Rabs_le_inv in Q.
  set (r := e / s) in *. clearbody r. assert ((1 - b) * r - h <= q) by lra.
  assert ((1 - b) * (w * (1 - 2 * a - beta) - M - N) <= (1 - b) * r) by nra.
  replace (w * (1 - (2 * a + beta + b))) with (w * (1 - 2 * a - beta) - b * w) by ring.
  assert (X : w * (1 - 2 * a - beta) <= w) by (rewrite <- (Rmult_1_r w) at 2;
    apply Rmult_le_compat_l; lra).
  set (x := w * (1 - 2 * a - beta)) in *. clearbody x.
  assert (b * x <= b * w) by (apply Rmult_le_compat_l; lra).
  assert (0 <= b * (M + N)) by (apply Rmult_le_pos; lra). lra.
Qed.
End Weight.

Section Softmax.
Variables prec emax : Z.
Context (positive : Prec_gt_0 prec) (fits : Prec_lt_emax prec emax).
Local Notation number := (binary_float prec emax).
Local Notation u := (AnyOrder.u prec).
Local Notation normal := (normal emax).
Local Notation rnd := (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)).
Variables units vanish : R.          (* EXP, and Format.vanish *)
Hypotheses (units_pos : 0 <= units) (vanish_pos : 0 <= vanish) (vanish_is : exp (- vanish) <=
  normal)
  (vanish_held : generic_format radix2 (SpecFloat.fexp prec emax) vanish).

(* what exp may return: so many units in the last place, of 2 u each, and 0 far away *)
Definition exp_result (d e : R) : Prop := 0 <= e /\
  Rabs (e - exp d) <= 2 * units * u * exp d + normal /\ (d <= - vanish -> e = 0).
Definition alpha (reach : R) : R := u * Rmin reach vanish + 2 * units * u.
Lemma alpha_pos reach : 0 <= reach -> 0 <= alpha reach.
Proof.
  intros H. unfold alpha. pose proof (u_pos prec). assert (0 <= Rmin reach vanish) by
    (apply Rmin_glb; lra). nra.
Qed.
Theorem exp_error (x m : number) reach e : 0 <= B2R m - B2R x <= reach ->
  exp_result (rnd (B2R x - B2R m)) e ->
  Rabs (e - exp (B2R x - B2R m)) <= (exp (alpha reach) - 1) * exp (B2R x - B2R m) + normal.
Proof.
  intros HG [E0 [E1 E2]]. set (g := B2R x - B2R m) in *. pose proof (exp_pos g) as P.
  assert (0 <= - g <= reach) as [G0 G] by (unfold g; lra).
  pose proof (u_pos prec) as U.
  assert (A : 0 <= alpha reach) by (apply alpha_pos; lra). pose proof (exp_ge_1 _ A) as X1.
  destruct (Rle_lt_dec g (- vanish)) as [V|V].
  { rewrite E2.
    - rewrite Rminus_0_l, Rabs_Ropp, Rabs_pos_eq by lra. pose proof (exp_le _ _ V).
      assert (0 <= (exp (alpha reach) - 1) * exp g) by nra. lra.
    - replace (- vanish) with (rnd (- vanish)).
      + apply rounding_is_monotone; auto.
      + apply round_generic; [apply valid_rnd_N|now apply generic_format_opp]. }
  destruct (rnd_plus prec emax positive x (Bopp m)) as [d [Hd R]].
  rewrite B2R_Bopp in R. fold (B2R x - B2R m) in R. fold g in R. rewrite R in E1. clear E2 R.
  set (f := Rmin reach vanish) in *. assert (F : - g <= f) by (apply Rmin_glb; lra).
  assert (D : Rabs (g * d) <= u * f).
  { rewrite Rabs_mult, (Rabs_left1 g) by lra. rewrite Rmult_comm.
    apply Rmult_le_compat; auto using Rabs_pos; lra. }
  pose proof (exp_off _ _ D) as O. pose proof (exp_pos (g * d)) as Pd.
  replace (g * (1 + d)) with (g + g * d) in E1 by ring. rewrite exp_plus in E1.
  assert (K : exp (u * f) * (1 + 2 * units * u) <= exp (alpha reach)).
  { unfold alpha. fold f. rewrite exp_plus. apply Rmult_le_compat_l; [left; apply exp_pos|].
    apply exp_ineq1_le. }
  assert (T : exp (g * d) <= exp (u * f)) by (apply Rabs_le_inv in O; lra).
  replace (e - exp g) with ((e - exp g * exp (g * d)) + exp g * (exp (g * d) - 1)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq (exp g)) by lra.
  set (y := exp (g * d)) in *. set (z := exp (u * f)) in *. set (E := exp g) in *.
  assert (B : E * Rabs (y - 1) <= E * (z - 1)) by (apply Rmult_le_compat_l; lra).
  assert (C : 2 * units * u * (E * y) <= E * (2 * units * u * z)).
  { replace (2 * units * u * (E * y)) with (E * (2 * units * u * y)) by ring.
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [|exact T].
    apply Rmult_le_pos; lra. }
  assert (E * (z * (1 + 2 * units * u)) <= E * exp (alpha reach)) by
    (apply Rmult_le_compat_l; lra). lra.
Qed.

(* positions that are seen: computed exp, true exp of the computed score less the largest *)
Definition all (f : R * R -> R) (l : list (R * R)) : R := fold_right (fun p t => f p + t) 0 l.
Definition near (a : R) (p : R * R) : Prop :=
  0 <= fst p /\ 0 < snd p /\ Rabs (fst p - snd p) <= a * snd p + normal.
Lemma all_near a l : Forall (near a) l -> 0 <= all snd l /\ 0 <= all fst l /\
  Rabs (all fst l - all snd l) <= a * all snd l + INR (length l) * normal.
Proof.
  intros H. induction H as [|p l [H0 [H1 H2]] _ [I0 [I1 I2]]]; unfold all in *;
    cbn [fold_right length].
  - rewrite Rminus_0_r, Rabs_R0. cbn. lra.
  - rewrite S_INR. split; [lra|]. split; [lra|].
    set (k := fold_right (fun p t => fst p + t) 0 l) in *.
    set (j := fold_right (fun p t => snd p + t) 0 l) in *.
    replace (fst p + k - (snd p + j)) with ((fst p - snd p) + (k - j)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.
Lemma part_of l p : Forall (fun p => 0 <= snd p) l -> In p l -> snd p <= all snd l.
Proof.
  intros H. induction H as [|o l H0 H1 IH]; intros []; unfold all in *; cbn [fold_right].
  - subst. assert (0 <= fold_right (fun p t => snd p + t) 0 l); [|lra].
    clear - H1. induction H1; cbn; lra.
  - specialize (IH H). lra.
Qed.
(* Format.weight_error; the two results of Python are these two summands *)
Definition relative (reach additions : R) (count : nat) : R := exp (102 / 100 * (u *
  (2 * Rmin reach vanish + 4 * units + additions * grown prec (S count) + 6))) - 1.
Definition absolute (count : nat) : R := 4 * (INR count + 1) * normal.
Theorem weight_formula l p s q reach additions :
  let n := length l in let b := additions * grown prec (S n) * u in
  Forall (near (exp (alpha reach) - 1)) l -> In p l -> 0 <= reach -> 1 <= all snd l ->
  Rabs (s - all fst l) <= b * all fst l -> 0 <= b <= / 64 -> alpha reach <= / 64 ->
  u <= / 1024 -> INR n * normal <= / 1024 -> s <= bpow radix2 (emax - 2) ->
  divided prec emax (fst p) s q ->
  Rabs (q - snd p / all snd l) <= relative reach additions n * (snd p / all snd l) + absolute n.
Proof.
  intros n b HL Hp Hr HZ Hs Hb Ha Hu HM Hmax Hq.
  pose proof (alpha_pos reach Hr) as A0. pose proof (u_pos prec) as U0.
  set (al := alpha reach) in *. set (a := exp al - 1) in *.
  assert (A1 : 0 <= a) by (unfold a; pose proof (exp_ge_1 al A0); lra).
  assert (A2 : a <= 64 / 63 * al) by (apply exp_small; lra).
  destruct (all_near a l HL) as [_ [E0 N]]. fold n in N. set (Z := all snd l) in *.
  set (M := INR n * normal) in *. apply Rabs_le_inv in N.
  assert (N0 : 0 < normal) by apply bpow_gt_0.
  assert (M0 : 0 <= M) by (apply Rmult_le_pos; [apply pos_INR|lra]).
  assert (HE : snd p <= Z). { apply part_of; auto. eapply Forall_impl; [|exact HL].
    intros o [_ [O _]]. lra. }
  rewrite Forall_forall in HL. destruct (HL p Hp) as [P0 [P1 P2]]. apply Rabs_le_inv in P2.
  apply Rabs_le_inv in Hs. set (S := all fst l) in *.
  assert (Low : (1 - b) * (Z * (1 - a) - M) <= s).
  { apply Rle_trans with ((1 - b) * S); [apply Rmult_le_compat_l; lra|lra]. }
  assert (High : s <= (1 + b) * (Z * (1 + a) + M)).
  { apply Rle_trans with ((1 + b) * S); [lra|apply Rmult_le_compat_l; lra]. }
  set (bb := grown prec 2 - 1). assert (BB : bb = 2 * u + u * u) by (unfold bb, grown; cbn; ring).
  assert (UU : 0 <= u * u <= / 1024 * u) by (clear - U0 Hu; nra).
  assert (B0 : 0 <= bb <= / 63) by lra.
  assert (SP : 0 < s) by (apply (s_pos (snd p) Z s a b M); lra).
  pose proof (weight_division prec emax positive (fst p) s q P0 (conj SP Hmax) Hq) as Q.
  fold bb in Q. set (h := AnyOrder.eta prec emax) in *.
  assert (H0 : h <= normal) by (apply eta_normal; exact positive).
  set (T := 102 / 100 * (2 * al + b + 6 * u)).
  assert (RT : relative reach additions n = exp T - 1).
  { unfold relative, T. f_equal. f_equal. f_equal. unfold b, al, alpha. ring. }
  assert (UP : (1 + bb) * ((1 + a) * / (1 - a) * / (1 - b)) <= exp T).
  { pose proof (inverse_exp a ltac:(lra)) as I1. pose proof (inverse_exp b ltac:(lra)) as I2.
    apply Rle_trans with (exp (6 * u) * (exp al * exp (102 / 100 * a) * exp (102 / 100 * b))).
    - pose proof (Rinv_0_lt_compat (1 - a) ltac:(lra)).
      pose proof (Rinv_0_lt_compat (1 - b) ltac:(lra)).
      pose proof (exp_ineq1_le (6 * u)). pose proof (exp_pos al).
      assert (1 + a = exp al) by (unfold a; ring).
      apply Rmult_le_compat; [lra| |lra|].
      + apply Rmult_le_pos; [apply Rmult_le_pos|]; lra.
      + apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra| |lra].
        apply Rmult_le_compat; lra.
    - rewrite <- !exp_plus. apply exp_le. unfold T. lra. }
  assert (T0 : 0 <= T <= / 16) by (unfold T; lra).
  assert (T2 : exp T <= 2) by now apply exp_two.
  assert (Above : q <= exp T * (snd p / Z) + 3 * (M + normal) + h).
  { eapply (weight_up (snd p) Z (fst p) s q a b bb normal M h);
      first [exact Low|exact High|exact Q|exact UP|lra]. }
  assert (Below : snd p / Z * (1 - (2 * a + b + bb)) - (M + normal) - h <= q).
  { eapply (weight_down (snd p) Z (fst p) s q a b bb normal M h);
      first [exact Low|exact High|exact Q|lra]. }
  assert (W : 0 <= snd p / Z) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  assert (L : 2 * a + b + bb <= exp T - 1).
  { pose proof (exp_ineq1_le T) as X. unfold T in X at 1. lra. }
  rewrite RT. unfold absolute. fold M. set (w := snd p / Z) in *. clearbody w.
  assert (w * (2 * a + b + bb) <= w * (exp T - 1)) by (apply Rmult_le_compat_l; lra).
  replace (4 * (INR n + 1) * normal) with (4 * M + 4 * normal) by (unfold M; ring).
  apply Rabs_le. split; lra.
Qed.
End Softmax.

(* ---------- softmax on the device: differences, exp, a sum in any order, a division ---------- *)
Section Device.
Variables prec emax : Z.
Context (positive : Prec_gt_0 prec) (fits : Prec_lt_emax prec emax).
Local Notation number := (binary_float prec emax).
Local Notation u := (AnyOrder.u prec).
Local Notation rnd := (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)).
Variables (units vanish : R) (one : number).
Hypotheses (one_is : B2R one = 1) (wide : (prec + 5 <= emax)%Z) (u_small : u <= / 1024)
  (units_pos : 0 <= units) (vanish_pos : 0 <= vanish) (vanish_is : exp (- vanish) <= normal emax)
  (vanish_held : generic_format radix2 (SpecFloat.fexp prec emax) vanish)
  (alpha_small : u * vanish + 2 * units * u <= / 64).

Definition other (p : number * number) : bool := if Req_EM_T (B2R (snd p)) 1 then false else true.
Lemma other_is p : other p = false -> power (B2R (snd p)) /\ 1 <= Rabs (B2R (snd p)).
Proof.
  unfold other. destruct Req_EM_T as [E|]; [|discriminate]. intros _. rewrite E, Rabs_R1.
  split; [|lra]. exists 0%Z. rewrite Rabs_R1. reflexivity.
Qed.
Definition ones (l : list number) : list (number * number) := map (fun e => (e, one)) l.
Lemma counted_ones l : counted prec emax other (ones l) = O.
Proof.
  unfold counted, ones. induction l as [|e l IH]; cbn [map filter]; auto.
  destruct Req_EM_T; auto. unfold other at 1. cbn [snd].
  destruct (Req_EM_T (B2R one) 1); [auto|contradiction].
Qed.
Definition total (l : list number) : R := fold_right (fun e t => B2R e + t) 0 l.
Lemma tot_ones l : tot prec emax (ones l) = total l.
Proof.
  unfold tot, ones, total. induction l as [|e l IH]; cbn [map fold_right fst snd]; auto.
  rewrite IH, one_is. ring.
Qed.
Lemma size_ones l : Forall (fun e => 0 <= B2R e) l -> size prec emax (ones l) = total l.
Proof.
  unfold size, ones, total. intros H. induction H as [|e l H0 H IH];
    cbn [map fold_right fst snd]; auto. rewrite IH, one_is, Rmult_1_r, Rabs_pos_eq; auto.
Qed.
(* a sum of numbers that are not negative errs by less than n roundings of itself *)
Theorem positive_sum l s : sums prec emax positive fits (ones l) s -> is_finite one = true ->
  Forall (fun e => is_finite e = true /\ 0 <= B2R e) l -> INR (length l) * u <= / 128 ->
  4 * total l < bpow radix2 emax ->
  is_finite s = true /\
  Rabs (B2R s - total l) <= INR (length l) * grown prec (S (length l)) * u * total l.
Proof.
  intros H F1 HF HN HB. set (n := length l) in *.
  assert (HP : Forall (fun e => 0 <= B2R e) l) by (eapply Forall_impl; [|exact HF];
    now intros e []).
  assert (T0 : 0 <= total l) by (clear - HP; unfold total; induction HP; cbn; lra).
  pose proof (u_pos prec) as U0. pose proof (pos_INR n) as N0.
  set (m := Nat.pred (nz prec emax (ones l))).
  assert (M : (m <= n)%nat). { pose proof (nz_le prec emax (ones l)) as L. unfold ones in L at 2.
    rewrite map_length in L. fold n in L. unfold m. lia. }
  assert (O : sum_off prec emax other other (ones l) = (grown prec m - 1) * total l).
  { unfold sum_off, rounds. rewrite !counted_ones, size_ones by exact HP. cbn [Nat.min].
    rewrite Nat.add_0_r. fold m. cbn [INR]. ring. }
  assert (G : grown prec (S n) <= 2) by (apply grown_2; rewrite S_INR; lra).
  pose proof (grown_less prec m) as L. pose proof (le_INR _ _ M) as M1.
  pose proof (grown_mono prec m (S n) ltac:(lia)) as M2. pose proof (grown_1 prec m) as M3.
  pose proof (pos_INR m) as M4.
  assert (K : grown prec m - 1 <= INR n * grown prec (S n) * u).
  { eapply Rle_trans; [exact L|]. replace (INR n * grown prec (S n) * u) with
      (INR n * u * grown prec (S n)) by ring. apply Rmult_le_compat; nra. }
  destruct (sum_error prec emax positive fits other other) with (l := ones l) (r := s)
    as [Fs Es]; auto; try (intros p E; now apply other_is).
  - unfold all_finite, ones. rewrite Forall_map. eapply Forall_impl; [|exact HF]. now intros e [].
  - rewrite O, size_ones by exact HP. assert ((grown prec m - 1) * total l <= 1 * total l) by
      (apply Rmult_le_compat_r; lra). lra.
  - split; auto. rewrite tot_ones, O in Es. eapply Rle_trans; [exact Es|].
    now apply Rmult_le_compat_r.
Qed.

(* a position: its score and what exp returned for it *)
Definition seen (top : number) (reach : R) (p : number * number) : Prop :=
  is_finite (snd p) = true /\ 0 <= B2R top - B2R (fst p) <= reach /\
  exp_result prec emax units vanish (rnd (B2R (fst p) - B2R top)) (B2R (snd p)).
Definition share (top : number) (p : number * number) : R := exp (B2R (fst p) - B2R top).
Definition shares (top : number) (l : list (number * number)) : R :=
  fold_right (fun p t => share top p + t) 0 l.
Theorem softmax_formula top reach l s q p : let n := length l in
  is_finite one = true -> Forall (seen top reach) l -> In p l -> 0 <= reach ->
  (exists p, In p l /\ B2R (fst p) = B2R top) -> INR n * u <= / 128 ->
  sums prec emax positive fits (ones (map snd l)) s ->
  divided prec emax (B2R (snd p)) (B2R s) q ->
  Rabs (q - share top p / shares top l) <=
    relative prec units vanish reach (INR n) n * (share top p / shares top l) + absolute emax n.
Proof.
  intros n F1 HL Hp Hr [o [Ho Eo]] HN HS HQ. pose proof (u_pos prec) as U0.
  set (k := map (fun p => (B2R (snd p), share top p)) l).
  assert (K1 : all fst k = total (map snd l)) by (unfold k, all, total; clear; induction l; cbn;
    congruence).
  assert (K2 : all snd k = shares top l) by (unfold k, all, shares; clear; induction l; cbn;
    congruence).
  assert (KL : length k = n) by apply map_length.
  assert (A : alpha prec units vanish reach <= / 64).
  { unfold alpha. pose proof (Rmin_r reach vanish). nra. }
  set (a := exp (alpha prec units vanish reach) - 1).
  assert (A1 : a <= 1). { pose proof (exp_small (alpha prec units vanish reach)) as X.
    pose proof (alpha_pos prec units vanish units_pos vanish_pos reach Hr). unfold a. lra. }
  assert (KN : Forall (near emax a) k).
  { unfold k. rewrite Forall_map. eapply Forall_impl; [|exact HL]. intros x [_ [X1 X2]].
    split; [apply X2|]. split; [apply exp_pos|]. cbn [fst snd]. unfold share, a.
    eapply exp_error; eassumption. }
  assert (KP : Forall (fun p => 0 <= snd p) k).
  { eapply Forall_impl; [|exact KN]. intros x [_ [X _]]. lra. }
  assert (Z1 : 1 <= all snd k).
  { apply Rle_trans with (snd (B2R (snd o), share top o)).
    - cbn [snd]. unfold share. rewrite Eo, Rminus_eq_0, exp_0. lra.
    - apply part_of; auto. unfold k. apply (in_map (fun p => (B2R (snd p), share top p)) l o Ho). }
  assert (Zn : all snd k <= INR n).
  { rewrite K2. unfold n, shares. clear - HL. induction HL as [|x l [_ [X _]] _ IH];
      [cbn; lra|]. cbn [fold_right length]. rewrite S_INR.
    assert (share top x <= 1); [|lra]. unfold share. rewrite <- exp_0. apply exp_le. lra. }
  assert (Nn : INR n <= bpow radix2 (prec - 7)).
  { unfold AnyOrder.u in HN, U0. apply Rmult_le_reg_r with (bpow radix2 (- prec)); [exact U0|].
    rewrite <- bpow_plus. replace (prec - 7 + - prec)%Z with (-7)%Z by lia. exact HN. }
  destruct (all_near emax a k KN) as [_ [S0 SN]]. rewrite KL in SN. apply Rabs_le_inv in SN.
  assert (M : INR n * normal emax <= / 1024).
  { apply Rle_trans with (bpow radix2 (prec - 7) * normal emax).
    - apply Rmult_le_compat_r; [apply bpow_ge_0|exact Nn].
    - unfold normal. rewrite <- bpow_plus. replace (/ 1024) with (bpow radix2 (-10)) by
      reflexivity.
      apply bpow_le. lia. }
  assert (T4 : all fst k <= 3 * INR n).
  { assert (a * all snd k <= 1 * all snd k) by (apply Rmult_le_compat_r; lra). lra. }
  assert (R0 : 16 * bpow radix2 (prec - 7) <= bpow radix2 (emax - 2)).
  { change 16 with (bpow radix2 4). rewrite <- bpow_plus. apply bpow_le. lia. }
  assert (R1 : bpow radix2 emax = 4 * bpow radix2 (emax - 2)).
  { change 4 with (bpow radix2 2). rewrite <- bpow_plus. f_equal. lia. }
  pose proof (bpow_gt_0 radix2 (prec - 7)) as R2.
  destruct (positive_sum (map snd l) s HS F1) as [_ E]; rewrite ?map_length; fold n; auto.
  - rewrite Forall_map. eapply Forall_impl; [|exact HL]. intros x [X1 [_ X2]]. split; auto.
    apply X2.
  - rewrite <- K1. lra.
  - rewrite map_length in E. fold n in E. rewrite <- K1 in E.
    assert (G : grown prec (S n) <= 2) by (apply grown_2; rewrite S_INR; lra).
    pose proof (grown_1 prec (S n)) as G1. pose proof (pos_INR n) as P.
    assert (B : 0 <= INR n * grown prec (S n) * u <= / 64).
    { replace (INR n * grown prec (S n) * u) with (INR n * u * grown prec (S n)) by ring.
      assert (0 <= INR n * u) by (apply Rmult_le_pos; lra). split; [apply Rmult_le_pos; lra|].
      apply Rle_trans with (/ 128 * 2); [apply Rmult_le_compat; lra|lra]. }
    rewrite <- K2, <- KL.
    apply (weight_formula prec emax positive units vanish units_pos vanish_pos k
      (B2R (snd p), share top p) (B2R s) q reach (INR (length k))); rewrite ?KL; auto.
    + apply (in_map (fun p => (B2R (snd p), share top p)) l p Hp).
    + apply Rabs_le_inv in E.
      assert (INR n * grown prec (S n) * u * all fst k <= 1 * all fst k) by
        (apply Rmult_le_compat_r; lra). lra.
Qed.
(* equal scores: every exp is 1, and the count is exact *)
Theorem equal_formula l s q : sums prec emax positive fits (ones l) s -> is_finite one = true ->
  Forall (fun e => is_finite e = true /\ B2R e = 1) l -> l <> [] ->
  INR (length l) < bpow radix2 prec -> divided prec emax 1 (B2R s) q ->
  Rabs (q - / INR (length l)) <= u * / INR (length l).
Proof.
  intros H F1 HF HL HN HQ. set (n := length l) in *.
  assert (HP : Forall (fun e => 0 <= B2R e) l) by (eapply Forall_impl; [|exact HF];
    intros e [_ E]; lra).
  assert (T : total l = INR n).
  { unfold total, n. clear - HF. induction HF as [|e l [_ E] _ IH]; [reflexivity|].
    cbn [fold_right length]. rewrite S_INR, E, IH. ring. }
  assert (N : 0 < INR n) by (apply lt_0_INR; unfold n; destruct l; [congruence|cbn; lia]).
  assert (P : bpow radix2 prec <= bpow radix2 (emax - 2)) by (apply bpow_le; lia).
  assert (P2 : bpow radix2 prec <= bpow radix2 emax) by (apply bpow_le; lia).
  destruct (exact_formula prec emax positive fits 0) with (l := ones l) (r := s) as [_ E]; auto.
  - red in positive. lia.
  - unfold all_finite, ones. rewrite Forall_map. eapply Forall_impl; [|exact HF]. now intros e [].
  - unfold ones. rewrite Forall_map. eapply Forall_impl; [|exact HF]. intros e [_ E].
    exists 1%Z. cbn [fst snd]. rewrite E, one_is. cbn. ring.
  - rewrite size_ones, T by exact HP. rewrite Z.add_0_l. exact HN.
  - rewrite size_ones, T by exact HP. lra.
  - rewrite tot_ones, T in E. rewrite E in HQ.
    pose proof (reciprocal_error prec emax positive (INR n) ltac:(lra)) as R.
    assert (Q : q = rnd (/ INR n)); [|now rewrite Q].
    destruct HQ as [-> | ->]; unfold Rdiv; rewrite Rmult_1_l; [reflexivity|].
    apply round_generic; [apply valid_rnd_N|]. apply generic_format_round;
      [apply (fexp_correct prec emax positive)|apply valid_rnd_N].
Qed.
End Device.

(* ---------- the formats that the checker knows ---------- *)
Definition sum_float64 := sum_formula 53 1024 eq_refl eq_refl.
Definition sum_float32 := sum_formula 24 128 eq_refl eq_refl.
Definition sum_float16 := sum_formula 11 16 eq_refl eq_refl.
Definition sum_bfloat16 := sum_formula 8 128 eq_refl eq_refl.
Definition average_float64 := average_formula 53 1024 eq_refl eq_refl.
Definition average_float32 := average_formula 24 128 eq_refl eq_refl.
Definition average_float16 := average_formula 11 16 eq_refl eq_refl.
Definition average_bfloat16 := average_formula 8 128 eq_refl eq_refl.
Definition reciprocal_float64 := weight_division 53 1024 eq_refl.
Definition reciprocal_float32 := weight_division 24 128 eq_refl.
Definition reciprocal_float16 := weight_division 11 16 eq_refl.
Definition reciprocal_bfloat16 := weight_division 8 128 eq_refl.
Definition stored_float16 := rounding_formula 11 16 eq_refl.
Definition stored_bfloat16 := rounding_formula 8 128 eq_refl.

(* exp far below 0: e is more than 21/8, since exp (1/16) is more than 17/16 *)
Lemma exp_1_more : 21 / 8 <= exp 1.
Proof.
  assert (S : forall n, (17 / 16) ^ n <= exp (INR n * / 16)).
  { induction n as [|n IH]; [cbn; rewrite Rmult_0_l, exp_0; lra|].
    rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, Rplus_comm, exp_plus. cbn [pow].
    pose proof (exp_ineq1_le (/ 16)). assert (0 <= (17 / 16) ^ n) by (apply pow_le; lra).
    apply Rmult_le_compat; lra. }
  specialize (S 16%nat). replace (INR 16 * / 16) with 1 in S by (cbn; field). lra.
Qed.
Lemma exp_far (v k : Z) : (0 <= v)%Z -> (0 <= k)%Z -> (2 ^ k * 8 ^ v <= 21 ^ v)%Z ->
  exp (- IZR v) <= bpow radix2 (- k).
Proof.
  intros V K H. assert (X : forall n, (21 * / 8) ^ n <= exp (INR n)).
  { induction n as [|n IH]; [cbn; rewrite exp_0; lra|]. rewrite S_INR, Rplus_comm, exp_plus.
    cbn [pow]. pose proof exp_1_more. assert (0 <= (21 * / 8) ^ n) by (apply pow_le; lra).
    apply Rmult_le_compat; lra. }
  specialize (X (Z.to_nat v)). rewrite INR_IZR_INZ, Z2Nat.id in X by exact V.
  apply IZR_le in H. rewrite mult_IZR, <- (Z2Nat.id v), <- !pow_IZR in H by exact V.
  change (2 ^ k)%Z with (Zpower radix2 k) in H. rewrite IZR_Zpower in H by exact K.
  set (n := Z.to_nat v) in *. rewrite Rpow_mult_distr, pow_inv in X.
  assert (P : 0 < 8 ^ n) by (apply pow_lt; lra).
  assert (B : bpow radix2 k <= 21 ^ n * / 8 ^ n).
  { apply Rmult_le_reg_r with (8 ^ n); [exact P|].
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact H. }
  rewrite exp_Ropp, bpow_opp. apply Rinv_le; [apply bpow_gt_0|]. lra.
Qed.
Lemma whole_held prec emax (positive : Prec_gt_0 prec) (z : Z) : (Z.abs z < 2 ^ prec)%Z ->
  (3 - emax - prec <= 0)%Z -> generic_format radix2 (SpecFloat.fexp prec emax) (IZR z).
Proof.
  intros H L. apply (generic_format_FLT radix2 (3 - emax - prec) prec).
  exists (Float radix2 z 0); [|exact H|exact L]. unfold F2R. cbn. ring.
Qed.
Definition one64 : binary_float 53 1024 := binary_normalize 53 1024 eq_refl eq_refl mode_NE 1 0
  false.
Definition one32 : binary_float 24 128 := binary_normalize 24 128 eq_refl eq_refl mode_NE 1 0
  false.
Lemma one_is prec emax (x : binary_float prec emax) m e : IZR (Zpos m) * bpow radix2 e = 1 ->
  B2SF x = SpecFloat.S754_finite false m e -> B2R x = 1.
Proof.
  intros V E. destruct x as [s|s| |s k f p]; cbn in E; try discriminate. injection E as -> -> ->.
  exact V.
Qed.
Lemma one64_is : B2R one64 = 1.
Proof. apply (one_is _ _ _ 4503599627370496 (-52)); [cbn; lra|vm_compute; reflexivity]. Qed.
Lemma one32_is : B2R one32 = 1.
Proof. apply (one_is _ _ _ 8388608 (-23)); [cbn; lra|vm_compute; reflexivity]. Qed.
(* EXP is 32; scores and softmax of half types are computed in float32 *)
Theorem softmax_float64 top reach l s q p : let n := length l in
  Forall (seen 53 1024 32 746 top reach) l -> In p l -> 0 <= reach ->
  (exists p, In p l /\ B2R (fst p) = B2R top) -> (Z.of_nat n <= 2 ^ 46)%Z ->
  sums 53 1024 eq_refl eq_refl (ones 53 1024 one64 (map snd l)) s ->
  divided 53 1024 (B2R (snd p)) (B2R s) q ->
  Rabs (q - share 53 1024 top p / shares 53 1024 top l) <= relative 53 32 746 reach (INR n) n *
    (share 53 1024 top p / shares 53 1024 top l) + absolute 1024 n.
Proof.
  intros n HL Hp Hr Ho HN. assert (U : u 53 = / IZR (2 ^ 53)) by reflexivity.
  change (IZR (2 ^ 53)) with 9007199254740992 in U.
  apply (softmax_formula 53 1024 eq_refl eq_refl 32 746 one64); auto; try lra; try lia.
  - apply one64_is.
  - apply (exp_far 746 1022); [lia|lia|]. apply Z.leb_le. vm_compute. reflexivity.
  - apply whole_held; [reflexivity|reflexivity|lia].
  - apply IZR_le in HN. rewrite <- INR_IZR_INZ in HN.
  change (IZR (2 ^ 46)) with 70368744177664 in HN.
    rewrite U. fold n. lra.
Qed.
Theorem softmax_float32 top reach l s q p : let n := length l in
  Forall (seen 24 128 32 104 top reach) l -> In p l -> 0 <= reach ->
  (exists p, In p l /\ B2R (fst p) = B2R top) -> (Z.of_nat n <= 2 ^ 17)%Z ->
  sums 24 128 eq_refl eq_refl (ones 24 128 one32 (map snd l)) s ->
  divided 24 128 (B2R (snd p)) (B2R s) q ->
  Rabs (q - share 24 128 top p / shares 24 128 top l) <= relative 24 32 104 reach (INR n) n *
    (share 24 128 top p / shares 24 128 top l) + absolute 128 n.
Proof.
  intros n HL Hp Hr Ho HN. assert (U : u 24 = / IZR (2 ^ 24)) by reflexivity.
  change (IZR (2 ^ 24)) with 16777216 in U.
  apply (softmax_formula 24 128 eq_refl eq_refl 32 104 one32); auto; try lra; try lia.
  - apply one32_is.
  - apply (exp_far 104 126); [lia|lia|]. apply Z.leb_le. vm_compute. reflexivity.
  - apply whole_held; [reflexivity|reflexivity|lia].
  - apply IZR_le in HN. rewrite <- INR_IZR_INZ in HN. change (IZR (2 ^ 17)) with 131072 in HN.
    rewrite U. fold n. lra.
Qed.

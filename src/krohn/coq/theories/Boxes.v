(* Boxes: numbers between multiples of 2^-40, and what a sum of products in any order makes of
   them. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer.
Import ListNotations.
Open Scope R_scope.

Definition box := (Z * Z)%type.
Notation grid := 1099511627776%Z.            (* 2^40 *)
Definition at40 (x : R) : R := x * IZR grid.
Definition inb (b : box) (x : f32) : Prop := is_finite x = true /\ IZR (fst b) <= at40 (B2R x) <=
  IZR (snd b).
Definition inv (B : list box) (x : vec) : Prop := Forall2 inb B x.
Definition zero_box : box := (0, 0)%Z.
Definition one_box : box := (grid, grid).

(* the product of two boxes, in multiples of 2^-80; a point may be on the right *)
Definition box_mul (a b : box) : Z * Z :=
  let '(al, ah) := a in let '(bl, bh) := b in
  if (bl =? bh)%Z then if (bl =? 0)%Z then (0, 0)%Z else if (0 <? bl)%Z then (al * bl, ah * bl)%Z
    else (ah * bl, al * bl)%Z
  else let p := (al * bl)%Z in let q := (al * bh)%Z in let r := (ah * bl)%Z in let s :=
    (ah * bh)%Z in
       (Z.min (Z.min p q) (Z.min r s), Z.max (Z.max p q) (Z.max r s)).
(* the sum of the products, the sum of their sizes *)
Fixpoint box_tot (l : list (box * box)) (lo hi size : Z) : Z * Z * Z :=
  match l with
  | [] => (lo, hi, size)
  | (a, b) :: l => let '(p, q) := box_mul a b in box_tot l (lo + p)%Z (hi + q)%Z (size + Z.max
    (Z.abs p) (Z.abs q))%Z
  end.
(* how many products may differ from 0 *)
Definition is_zero (b : box) : bool := ((fst b =? 0) && (snd b =? 0))%Z.
Fixpoint nonzero (l : list (box * box)) : nat := match l with [] => O | (a, b) :: l =>
  if is_zero a || is_zero b then nonzero l else S (nonzero l) end.
Definition most_terms := 1048576%Z.           (* 2^20 *)
Definition most_size := (2 ^ 180)%Z.
(* how much n roundings may change a sum of that size, in multiples of 2^-80 *)
Definition rounding (n size : Z) : Z := (Z.shiftr (n * size) 23 + 2)%Z.
Definition has_bound (n size : Z) : bool := (n <=? most_terms)%Z && (size <=? most_size)%Z.
Definition widened (n : Z) (lo hi size : Z) : option box :=
  if has_bound n size then
    let r := rounding n size in Some (Z.shiftr (lo - r) 40, - Z.shiftr (- (hi + r)) 40)%Z
  else None.
Definition sum_box (l : list (box * box)) : option box :=
  let '(lo, hi, size) := box_tot l 0 0 0 in widened (Z.of_nat (nonzero l)) lo hi size.

Lemma some_inj {A} (a b : A) : Some a = Some b -> a = b. Proof. congruence. Qed.
Lemma grid_pos : 0 < IZR grid. Proof. apply IZR_lt. lia. Qed.
Lemma grid_is : IZR grid = bpow radix2 40. Proof. reflexivity. Qed.
Lemma Rmul_box al ah bl bh x y : al <= x <= ah -> bl <= y <= bh ->
  Rmin (Rmin (al * bl) (al * bh)) (Rmin (ah * bl) (ah * bh)) <= x * y <= Rmax (Rmax (al * bl) (al
    * bh)) (Rmax (ah * bl) (ah * bh)).
Proof.
  intros [A1 A2] [B1 B2].
  assert (L : forall y0, Rmin (al * y0) (ah * y0) <= x * y0 <= Rmax (al * y0) (ah * y0)).
  { intros y0. destruct (Rle_dec 0 y0).
    - split; [eapply Rle_trans; [apply Rmin_l|]|eapply Rle_trans; [|apply Rmax_r]];
        apply Rmult_le_compat_r; lra.
    - split; [eapply Rle_trans; [apply Rmin_r|]|eapply Rle_trans; [|apply Rmax_l]]; nra. }
  assert (M : Rmin (x * bl) (x * bh) <= x * y <= Rmax (x * bl) (x * bh)).
  { destruct (Rle_dec 0 x).
    - split; [eapply Rle_trans; [apply Rmin_l|]|eapply Rle_trans; [|apply Rmax_r]];
        apply Rmult_le_compat_l; lra.
    - split; [eapply Rle_trans; [apply Rmin_r|]|eapply Rle_trans; [|apply Rmax_l]]; nra. }
  pose proof (L bl) as [L1 L2]. pose proof (L bh) as [L3 L4]. destruct M as [M1 M2].
  split.
  - eapply Rle_trans; [|exact M1]. apply Rmin_glb; (eapply Rle_trans; [|eassumption]);
      apply Rmin_glb;
    unfold Rmin; repeat destruct Rle_dec; lra.
  - eapply Rle_trans; [exact M2|]. apply Rmax_lub; (eapply Rle_trans; [eassumption|]);
      apply Rmax_lub;
    unfold Rmax; repeat destruct Rle_dec; lra.
Qed.
Lemma IZR_min a b : IZR (Z.min a b) = Rmin (IZR a) (IZR b).
Proof. unfold Rmin. destruct Rle_dec as [H|H]; [apply le_IZR in H; now rewrite Z.min_l|].
rewrite Z.min_r; auto. apply Rnot_le_lt, lt_IZR in H. lia. Qed.
Lemma IZR_max a b : IZR (Z.max a b) = Rmax (IZR a) (IZR b).
Proof. unfold Rmax. destruct Rle_dec as [H|H]; [apply le_IZR in H; now rewrite Z.max_r|].
rewrite Z.max_l; auto. apply Rnot_le_lt, lt_IZR in H. lia. Qed.
Lemma box_mul_sound a b x y p q : IZR (fst a) <= x <= IZR (snd a) -> IZR (fst b) <= y <= IZR (snd
  b) -> box_mul a b = (p, q) ->
  IZR p <= x * y <= IZR q.
Proof.
  destruct a as [al ah], b as [bl bh]. cbn [fst snd box_mul]. intros [A1 A2] [B1 B2].
  destruct (Z.eqb_spec bl bh) as [<-|].
  - assert (y = IZR bl) by lra. subst y. destruct (Z.eqb_spec bl 0) as [->|]; [intros [= <- <-];
      lra|].
    destruct (Z.ltb_spec 0 bl) as [H|H]; [apply IZR_lt in H|apply IZR_le in H]; intros [= <- <-];
      rewrite !mult_IZR; nra.
  - intros [= <- <-]. rewrite !IZR_min, !IZR_max, !mult_IZR. now apply Rmul_box.
Qed.
Definition at80 (x : R) : R := x * IZR grid * IZR grid.
Lemma box_tot_sound l : forall bs lo hi size lo' hi' size' a b,
  Forall2 (fun bb p => inb (fst bb) (fst p) /\ inb (snd bb) (snd p)) bs l ->
  box_tot bs lo hi size = (lo', hi', size') -> IZR lo <= at80 a <= IZR hi -> at80 b <= IZR size ->
  IZR lo' <= at80 (a + tot l) <= IZR hi' /\ at80 (b + Bounds.size l) <= IZR size'.
Proof.
  induction l as [|[x y] l IH]; intros bs lo hi size lo' hi' size' a b HF E HA HB; inversion HF;
    subst.
  - injection E as <- <- <-. cbn. rewrite !Rplus_0_r. auto.
  - match goal with H : _ /\ _ |- _ => destruct H as [Hx Hy] end.
    match goal with bb : (box * box)%type |- _ => destruct bb as [xb yb] end.
    cbn [fst snd] in *. cbn [box_tot] in E. destruct (box_mul xb yb) as [p q] eqn:M.
    destruct Hx as [_ Hx], Hy as [_ Hy]. pose proof (box_mul_sound _ _ _ _ _ _ Hx Hy M) as P.
    assert (P' : at40 (B2R x) * at40 (B2R y) = at80 (B2R x * B2R y)) by (unfold at40, at80; ring).
    rewrite P' in P.
    assert (Q : at80 (Rabs (B2R x * B2R y)) <= IZR (Z.max (Z.abs p) (Z.abs q))).
    { rewrite IZR_max, !abs_IZR. replace (at80 (Rabs (B2R x * B2R y))) with (Rabs (at80 (B2R x *
        B2R y))).
      - unfold Rabs, Rmax; repeat destruct Rcase_abs; repeat destruct Rle_dec; lra.
      - unfold at80. pose proof grid_pos. rewrite !Rabs_mult, !(Rabs_pos_eq (IZR grid)) by lra.
        ring. }
    destruct (IH _ _ _ _ _ _ _ (a + B2R x * B2R y) (b + Rabs (B2R x * B2R y)) ltac:(eassumption)
      E) as [I1 I2].
    + replace (at80 (a + B2R x * B2R y)) with (at80 a + at80 (B2R x * B2R y)) by (unfold at80;
        ring). rewrite !plus_IZR. lra.
    + replace (at80 (b + Rabs (B2R x * B2R y))) with (at80 b + at80 (Rabs (B2R x * B2R y))) by
        (unfold at80; ring). rewrite !plus_IZR. lra.
    + cbn [tot Bounds.size fold_right fst snd]. rewrite !Rplus_assoc in I1, I2. split; assumption.
Qed.

Lemma pow_small n : 2 * INR n * u <= 1 -> (1 + u) ^ n <= 1 + 2 * INR n * u.
Proof.
  pose proof u_pos. induction n as [|n IH]; intros H1; [cbn; lra|]. rewrite S_INR in *. cbn [pow].
  assert (0 <= INR n) by apply pos_INR. assert (I : (1 + u) ^ n <= 1 + 2 * INR n * u) by (apply
    IH; nra).
  apply Rle_trans with ((1 + u) * (1 + 2 * INR n * u)); [apply Rmult_le_compat_l; lra|]. nra.
Qed.
Lemma err_small n s : 2 * INR n * u <= 1 -> 0 <= s -> err n s <= 2 * INR n * u * s + 2 * INR n *
  eta.
Proof.
  intros H Hs. unfold err. pose proof (pow_small n H). pose proof (pos_INR n). pose proof eta_pos.
  pose proof u_pos.
  apply Rplus_le_compat; [apply Rmult_le_compat_r; lra|]. assert (0 <= INR n * eta) by nra. nra.
Qed.
Lemma IZR_shiftr z k : (0 <= k)%Z -> IZR (Z.shiftr z k) * IZR (2 ^ k) <= IZR z < (IZR (Z.shiftr z
  k) + 1) * IZR (2 ^ k).
Proof.
  intros H. rewrite Z.shiftr_div_pow2 by lia. assert (0 < 2 ^ k)%Z by (apply Z.pow_pos_nonneg;
    lia).
  rewrite <- (plus_IZR _ 1), <- !mult_IZR. pose proof (Z.div_mod z (2 ^ k) ltac:(lia)).
  pose proof (Z.mod_pos_bound z (2 ^ k) ltac:(lia)).
  split; [apply IZR_le|apply IZR_lt]; nia.
Qed.
Lemma u_is : u * IZR (2 ^ 24) = 1.
Proof. unfold u. change (IZR (2 ^ 24)) with (bpow radix2 24). rewrite <- bpow_plus. reflexivity.
Qed.

(* the sum of any list whose size is known *)
Lemma sum_error m l r size : sums l r -> all_finite l -> (nz l <= m)%nat ->
  at80 (Bounds.size l) <= IZR size ->
  has_bound (Z.of_nat m) size = true -> is_finite r = true /\ Rabs (at80 (B2R r) - at80 (tot l))
    <= IZR (rounding (Z.of_nat m) size).
Proof.
  intros HS HF Hlen HZ C. apply andb_prop in C as [C1 C2]. apply Z.leb_le in C1, C2.
  set (n := m) in *. set (s := Bounds.size l) in *.
  pose proof (size_pos l) as S0. fold s in S0. pose proof u_pos. pose proof eta_pos.
  pose proof grid_pos.
  assert (Hn : INR n <= IZR most_terms) by (rewrite INR_IZR_INZ; now apply IZR_le).
  pose proof (pos_INR n) as Hn0.
  assert (Hu : 2 * INR n * u <= 1).
  { pose proof u_is. change (IZR (2 ^ 24)) with 16777216 in *. change (IZR most_terms) with
      1048576 in *. nra. }
  pose proof (err_small n s Hu S0) as HE.
  assert (Hs : s <= bpow radix2 100).
  { unfold at80 in HZ. apply IZR_le in C2. change (IZR most_size) with (bpow radix2 180) in C2.
    apply Rmult_le_reg_r with (IZR grid * IZR grid); [nra|].
    rewrite grid_is in *. rewrite Rmult_assoc, <- bpow_plus in HZ.
    rewrite <- !bpow_plus. change (100 + (40 + 40))%Z with 180%Z. lra. }
  assert (Heta : 2 * INR n * eta * (IZR grid * IZR grid) <= 1).
  { assert (eta * (IZR grid * IZR grid) = bpow radix2 (-70)) by (unfold eta; rewrite grid_is,
      <- !bpow_plus; reflexivity).
    replace (2 * INR n * eta * (IZR grid * IZR grid)) with (2 * INR n * (eta * (IZR grid * IZR
      grid))) by ring. rewrite H2.
    apply Rle_trans with (2 * IZR most_terms * bpow radix2 (-70)); [apply Rmult_le_compat_r;
      [apply bpow_ge_0|lra]|].
    change (2 * IZR most_terms) with (2 * 1048576). replace (2 * 1048576) with (bpow radix2 21) by
      (cbn; lra).
    rewrite <- bpow_plus. apply (bpow_le radix2 _ 0). lia. }
  assert (Hroom : s + err n s < room).
  { apply Rle_lt_trans with (s + (1 * s + 1)).
    - apply Rplus_le_compat_l. eapply Rle_trans; [exact HE|]. apply Rplus_le_compat;
        [apply Rmult_le_compat_r; lra|].
      assert (1 <= IZR grid * IZR grid) by (rewrite <- mult_IZR; apply IZR_le; lia).
      assert (0 <= 2 * INR n * eta) by nra. nra.
    - apply Rle_lt_trans with (bpow radix2 100 + (bpow radix2 100 + bpow radix2 100)).
      + assert (1 <= bpow radix2 100) by (apply (bpow_le radix2 0); lia). lra.
      + apply Rle_lt_trans with (4 * bpow radix2 100); [pose proof (bpow_gt_0 radix2 100); lra|].
        change 4 with (bpow radix2 2). rewrite <- bpow_plus. apply bpow_lt. lia. }
  assert (Mono : err (nz l) s <= err n s) by (apply err_mono; [exact Hlen|lra]).
  destruct (any_order_error l r HS HF ltac:(fold s; lra)) as [F E]. split; [exact F|]. fold s in E.
  set (rr := rounding (Z.of_nat n) size).
  assert (HR : at80 (err n s) <= IZR rr).
  { unfold rr, rounding. rewrite plus_IZR. pose proof (IZR_shiftr (Z.of_nat n * size) 23
      ltac:(lia)) as [_ Q].
    rewrite mult_IZR, <- INR_IZR_INZ in Q. change (IZR (2 ^ 23)) with 8388608 in Q.
    assert (U : u * 16777216 = 1) by exact u_is.
    assert (at80 (err n s) <= 2 * INR n * u * at80 s + 1).
    { unfold at80. apply Rle_trans with ((2 * INR n * u * s + 2 * INR n * eta) * (IZR grid * IZR
        grid)); [|lra].
      rewrite Rmult_assoc. apply Rmult_le_compat_r; [nra|exact HE]. }
    assert (2 * INR n * u * at80 s <= 2 * INR n * u * IZR size) by (apply Rmult_le_compat_l;
      [nra|exact HZ]).
    assert (2 * INR n * u * IZR size * 8388608 = INR n * IZR size) by (replace (2 * INR n * u *
      IZR size * 8388608) with (INR n * IZR size * (u * 16777216)) by ring; rewrite U; ring).
    set (k := IZR (Z.shiftr (Z.of_nat n * size) 23)) in *. lra. }
  replace (at80 (B2R r) - at80 (tot l)) with (at80 (B2R r - tot l)) by (unfold at80; ring).
  apply Rabs_le_inv in E. apply Rabs_le.
  assert (at80 (- err n s) <= at80 (B2R r - tot l) <= at80 (err n s)) by (unfold at80; split;
    repeat (apply Rmult_le_compat_r; [lra|]); lra).
  replace (at80 (- err n s)) with (- at80 (err n s)) in * by (unfold at80; ring). lra.
Qed.
Lemma widened_sound m l r lo hi size b : sums l r -> all_finite l -> (nz l <= m)%nat ->
  IZR lo <= at80 (tot l) <= IZR hi -> at80 (Bounds.size l) <= IZR size ->
  widened (Z.of_nat m) lo hi size = Some b -> inb b r.
Proof.
  intros HS HF Hlen HT HZ. unfold widened. destruct has_bound eqn:C; [|discriminate]. intros HB.
  apply some_inj in HB. subst b.
  destruct (sum_error m l r size HS HF Hlen HZ C) as [F E]. split; [exact F|]. cbn [fst snd].
  set (rr := rounding (Z.of_nat m) size) in *.
  assert (B : IZR (lo - rr) <= at80 (B2R r) <= IZR (hi + rr)) by (rewrite minus_IZR, plus_IZR;
    apply Rabs_le_inv in E; lra).
  pose proof grid_pos. change (at80 (B2R r)) with (at40 (B2R r) * IZR grid) in B.
  pose proof (IZR_shiftr (lo - rr) 40 ltac:(lia)) as [L _].
  pose proof (IZR_shiftr (- (hi + rr)) 40 ltac:(lia)) as [U _].
  change (2 ^ 40)%Z with grid in *. rewrite opp_IZR in *. split; apply Rmult_le_reg_r with (IZR
    grid); lra.
Qed.
Lemma Forall2_len {A B} (P : A -> B -> Prop) l k : Forall2 P l k -> length l = length k.
Proof. intros H. induction H; cbn; auto. Qed.
Lemma is_zero_sound b x : is_zero b = true -> inb b x -> B2R x = 0.
Proof.
  unfold is_zero. intros H [_ I]. apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H1, H2.
  rewrite H1, H2 in I. unfold at40 in I. pose proof grid_pos. nra.
Qed.
Lemma nonzero_sound bs l : Forall2 (fun bb p => inb (fst bb) (fst p) /\ inb (snd bb) (snd p)) bs l
  -> (nz l <= nonzero bs)%nat.
Proof.
  intros H. induction H as [|[a b] [x y] bs l [Ha Hb] H IH]; cbn [nz nonzero fst snd] in *;
    [lia|]. destruct (is_zero a || is_zero b) eqn:E.
  - destruct Req_EM_T as [|N]; [exact IH|]. exfalso. apply N. apply orb_prop in E as [E|E];
      [rewrite (is_zero_sound _ _ E Ha)|rewrite (is_zero_sound _ _ E Hb)]; ring.
  - destruct Req_EM_T; lia.
Qed.
Theorem sum_box_sound bs l r b : Forall2 (fun bb p => inb (fst bb) (fst p) /\
  inb (snd bb) (snd p)) bs l ->
  sum_box bs = Some b -> sums l r -> inb b r.
Proof.
  intros HF E HS. unfold sum_box in E. destruct (box_tot bs 0 0 0) as [[lo hi] size] eqn:T.
  destruct (box_tot_sound l bs 0 0 0 lo hi size 0 0 HF T) as [B1 B2]; [unfold at80;
    lra|unfold at80; lra|].
  rewrite Rplus_0_l in B1, B2. eapply widened_sound; [exact HS| |exact (nonzero_sound bs l
    HF)|exact B1|exact B2|exact E].
  clear -HF. unfold all_finite. induction HF; constructor; auto. destruct H as [[H1 _] [H2 _]].
  auto.
Qed.

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

(* the product of two boxes, in multiples of 2^-80; a point may be on the right, and is the first
   factor since Coq multiplies faster by a number of few bits there *)
Definition box_mul (a b : box) : Z * Z :=
  let '(al, ah) := a in let '(bl, bh) := b in
  if (bl =? bh)%Z then if (bl =? 0)%Z then (0, 0)%Z else if (0 <? bl)%Z then (bl * al, bl * ah)%Z
    else (bl * ah, bl * al)%Z
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
(* how much a sum of n terms of that size may change, in multiples of 2^-80, where no partial sum
   is larger than top *)
Definition rounding_to (n size top : Z) : Z :=
  (Z.shiftr ((16777216 + 2 * n) * (size + Z.max 0 (n - 1) * top)) 48 + 2)%Z.
Definition rounding (n size : Z) : Z := rounding_to n size size.
Definition top_of (lo hi size : Z) : Z := (Z.shiftr (size + Z.max (Z.abs lo) (Z.abs hi)) 1 + 1)%Z.
Definition has_bound (n size : Z) : bool := (n <=? most_terms)%Z && (size <=? most_size)%Z.
Definition widened (n : Z) (lo hi size : Z) : option box :=
  if has_bound n size then
    let r := rounding_to n size (top_of lo hi size) in
    Some (Z.shiftr (lo - r) 40, - Z.shiftr (- (hi + r)) 40)%Z
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
Lemma err_small n s m : 2 * INR n * u <= 1 -> 0 <= s -> 0 <= m ->
  err n s m <= u * (s + INR (Nat.pred n) * m) * (1 + 2 * INR n * u) + 2 * INR n * eta.
Proof.
  intros H Hs Hm. unfold err. pose proof u_pos. pose proof eta_pos. pose proof (pos_INR n).
  pose proof (pos_INR (Nat.pred n)) as P0.
  assert (L : INR (Nat.pred n) <= INR n) by (apply le_INR; lia).
  assert (Q : (1 + u) ^ Nat.pred n <= 1 + 2 * INR n * u) by (eapply Rle_trans;
    [apply pow_small|]; nra).
  assert (0 <= INR (Nat.pred n) * m) by nra. assert (0 <= INR n * eta) by nra.
  replace (u * s + INR (Nat.pred n) * u * m + INR n * eta) with
    (u * (s + INR (Nat.pred n) * m) + INR n * eta) by ring.
  assert (0 <= u * (s + INR (Nat.pred n) * m)) by (apply Rmult_le_pos; lra).
  eapply Rle_trans; [apply Rmult_le_compat_l; [lra|exact Q]|].
  rewrite Rmult_plus_distr_r. apply Rplus_le_compat_l.
  replace (2 * INR n * eta) with (INR n * eta * 2) by ring. apply Rmult_le_compat_l; lra.
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
Lemma sum_error_to m l r size t : sums l r -> all_finite l -> (nz l <= m)%nat ->
  at80 (Bounds.size l) <= IZR size -> at80 (Bounds.top l) <= IZR t ->
  has_bound (Z.of_nat m) size = true ->
  is_finite r = true /\
  Rabs (at80 (B2R r) - at80 (tot l)) <= IZR (rounding_to (Z.of_nat m) size t).
Proof.
  intros HS HF Hlen HZ HT C. apply andb_prop in C as [C1 C2]. apply Z.leb_le in C1, C2.
  set (n := m) in *. set (s := Bounds.size l) in *. set (q := Bounds.top l) in *.
  pose proof (size_pos l) as S0. fold s in S0. pose proof u_pos. pose proof eta_pos.
  pose proof (top_pos l) as T0. pose proof (top_at_most l) as TS. fold q in T0, TS. fold s in TS.
  pose proof grid_pos.
  assert (Hn : INR n <= IZR most_terms) by (rewrite INR_IZR_INZ; now apply IZR_le).
  pose proof (pos_INR n) as Hn0. pose proof (pos_INR (Nat.pred n)) as Hp0.
  assert (Hp : INR (Nat.pred n) <= INR n) by (apply le_INR; lia).
  assert (U : u * 16777216 = 1) by exact u_is. change (IZR most_terms) with 1048576 in Hn.
  assert (Hu : 0 <= 2 * INR n * u <= / 4) by nra.
  assert (HE : err n s q <= u * (s + INR (Nat.pred n) * q) * (1 + 2 * INR n * u) + 2 * INR n * eta)
    by (apply err_small; lra).
  assert (Hs : s <= bpow radix2 100).
  { unfold at80 in HZ. apply IZR_le in C2. change (IZR most_size) with (bpow radix2 180) in C2.
    apply Rmult_le_reg_r with (IZR grid * IZR grid); [nra|].
    rewrite grid_is in *. rewrite Rmult_assoc, <- bpow_plus in HZ.
    rewrite <- !bpow_plus. change (100 + (40 + 40))%Z with 180%Z. lra. }
  assert (Heta : 2 * INR n * eta * (IZR grid * IZR grid) <= 1).
  { assert (E70 : eta * (IZR grid * IZR grid) = bpow radix2 (-70)) by (unfold eta;
      rewrite grid_is, <- !bpow_plus; reflexivity).
    replace (2 * INR n * eta * (IZR grid * IZR grid)) with (2 * INR n * (eta * (IZR grid * IZR
      grid))) by ring. rewrite E70.
    apply Rle_trans with (2 * 1048576 * bpow radix2 (-70)); [apply Rmult_le_compat_r;
      [apply bpow_ge_0|lra]|].
    replace (2 * 1048576) with (bpow radix2 21) by (cbn; lra).
    rewrite <- bpow_plus. apply (bpow_le radix2 _ 0). lia. }
  assert (Hpq : INR (Nat.pred n) * q <= INR n * s) by (apply Rmult_le_compat; lra).
  assert (Hpq0 : 0 <= INR (Nat.pred n) * q) by (apply Rmult_le_pos; lra).
  assert (Hroom : q + err n s q < room).
  { assert (G1 : u * (s + INR (Nat.pred n) * q) * (1 + 2 * INR n * u) <= 1 * s).
    { apply Rle_trans with (u * (s + INR n * s) * 2).
      - apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra].
      - replace (u * (s + INR n * s) * 2) with ((2 * u + 2 * INR n * u) * s) by ring.
        apply Rmult_le_compat_r; lra. }
    apply Rle_lt_trans with (s + (1 * s + 1)).
    - apply Rplus_le_compat; [exact TS|]. eapply Rle_trans; [exact HE|].
      apply Rplus_le_compat; [exact G1|].
      assert (1 <= IZR grid * IZR grid) by (rewrite <- mult_IZR; apply IZR_le; lia).
      assert (0 <= 2 * INR n * eta) by nra. nra.
    - apply Rle_lt_trans with (bpow radix2 100 + (bpow radix2 100 + bpow radix2 100)).
      + assert (1 <= bpow radix2 100) by (apply (bpow_le radix2 0); lia). lra.
      + apply Rle_lt_trans with (4 * bpow radix2 100); [pose proof (bpow_gt_0 radix2 100); lra|].
        change 4 with (bpow radix2 2). rewrite <- bpow_plus. apply bpow_lt. lia. }
  assert (Mono : err (nz l) s q <= err n s q) by (apply err_mono; [exact Hlen|lra|lra]).
  destruct (any_order_error l r HS HF ltac:(fold s; fold q; lra)) as [F E]. split; [exact F|].
  fold s in E. fold q in E. set (rr := rounding_to (Z.of_nat n) size t).
  assert (HR : at80 (err n s q) <= IZR rr).
  { unfold rr, rounding_to. rewrite plus_IZR.
    set (R0 := (size + Z.max 0 (Z.of_nat n - 1) * t)%Z).
    pose proof (IZR_shiftr ((16777216 + 2 * Z.of_nat n) * R0) 48 ltac:(lia)) as [_ Q].
    replace (IZR (2 ^ 48)) with (16777216 * 16777216) in Q by (rewrite <- mult_IZR; reflexivity).
    rewrite mult_IZR, plus_IZR, mult_IZR, <- INR_IZR_INZ in Q.
    assert (HR0 : at80 s + INR (Nat.pred n) * at80 q <= IZR R0).
    { unfold R0. rewrite plus_IZR, mult_IZR.
      replace (Z.max 0 (Z.of_nat n - 1)) with (Z.of_nat (Nat.pred n)) by lia.
      rewrite <- INR_IZR_INZ. apply Rplus_le_compat; [exact HZ|]. now apply Rmult_le_compat_l. }
    set (c := u * (1 + 2 * INR n * u)).
    assert (c0 : 0 <= c) by (unfold c; nra).
    assert (at80 (err n s q) <= c * (at80 s + INR (Nat.pred n) * at80 q) + 1).
    { unfold at80. apply Rle_trans with ((u * (s + INR (Nat.pred n) * q) * (1 + 2 * INR n * u) +
        2 * INR n * eta) * (IZR grid * IZR grid)).
      - rewrite Rmult_assoc. apply Rmult_le_compat_r; [nra|exact HE].
      - unfold c. lra. }
    assert (c * (at80 s + INR (Nat.pred n) * at80 q) <= c * IZR R0) by (apply Rmult_le_compat_l;
      [exact c0|exact HR0]).
    assert (c * IZR R0 * (16777216 * 16777216) = (16777216 + 2 * INR n) * IZR R0).
    { unfold c. replace (u * (1 + 2 * INR n * u) * IZR R0 * (16777216 * 16777216)) with
        ((u * 16777216) * (16777216 + 2 * INR n * (u * 16777216)) * IZR R0) by ring.
      rewrite U. ring. }
    set (k := IZR (Z.shiftr _ 48)) in *. lra. }
  replace (at80 (B2R r) - at80 (tot l)) with (at80 (B2R r - tot l)) by (unfold at80; ring).
  apply Rabs_le_inv in E. apply Rabs_le.
  assert (at80 (- err n s q) <= at80 (B2R r - tot l) <= at80 (err n s q)) by (unfold at80; split;
    repeat (apply Rmult_le_compat_r; [lra|]); lra).
  replace (at80 (- err n s q)) with (- at80 (err n s q)) in * by (unfold at80; ring). lra.
Qed.
Lemma sum_error m l r size : sums l r -> all_finite l -> (nz l <= m)%nat ->
  at80 (Bounds.size l) <= IZR size ->
  has_bound (Z.of_nat m) size = true -> is_finite r = true /\ Rabs (at80 (B2R r) - at80 (tot l))
    <= IZR (rounding (Z.of_nat m) size).
Proof.
  intros HS HF Hlen HZ C. unfold rounding.
  refine (sum_error_to m l r size size HS HF Hlen HZ _ C). eapply Rle_trans; [|exact HZ].
  unfold at80. pose proof grid_pos. repeat (apply Rmult_le_compat_r; [lra|]). apply top_at_most.
Qed.
Lemma top_of_sound l lo hi size : IZR lo <= at80 (tot l) <= IZR hi ->
  at80 (Bounds.size l) <= IZR size -> at80 (Bounds.top l) <= IZR (top_of lo hi size).
Proof.
  intros HT HZ. unfold top_of. rewrite plus_IZR. set (m := Z.max (Z.abs lo) (Z.abs hi)).
  pose proof (IZR_shiftr (size + m) 1 ltac:(lia)) as [_ Q]. rewrite plus_IZR in Q.
  change (IZR (2 ^ 1)) with 2 in Q. set (k := IZR (Z.shiftr (size + m) 1)) in *.
  assert (A : Rabs (at80 (tot l)) <= IZR m).
  { unfold m. rewrite IZR_max, !abs_IZR. unfold Rabs, Rmax; repeat destruct Rcase_abs;
      repeat destruct Rle_dec; lra. }
  assert (B : at80 (Bounds.top l) = (at80 (Bounds.size l) + Rabs (at80 (tot l))) / 2).
  { unfold Bounds.top, at80. pose proof grid_pos.
    rewrite !Rabs_mult, !(Rabs_pos_eq (IZR grid)) by lra. field. }
  rewrite B. lra.
Qed.
Lemma widened_sound m l r lo hi size b : sums l r -> all_finite l -> (nz l <= m)%nat ->
  IZR lo <= at80 (tot l) <= IZR hi -> at80 (Bounds.size l) <= IZR size ->
  widened (Z.of_nat m) lo hi size = Some b -> inb b r.
Proof.
  intros HS HF Hlen HT HZ. unfold widened. destruct has_bound eqn:C; [|discriminate]. intros HB.
  apply some_inj in HB. subst b.
  destruct (sum_error_to m l r size _ HS HF Hlen HZ (top_of_sound l lo hi size HT HZ) C) as [F E].
  split; [exact F|]. cbn [fst snd].
  set (rr := rounding_to (Z.of_nat m) size (top_of lo hi size)) in *.
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

(* What softmax is made of, in boxes: exp x is at least (1 + x / 2^32)^(2^32), which is computed by
   squaring whole numbers, and at most one over the same for - x; differences of scores and
   quotients, or products with a reciprocal, are rounded. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes.
Import ListNotations.
Open Scope R_scope.

(* ---------- exp: (1 + x / 2^32) ^ (2^32) <= exp x, by squaring in multiples of 2^-80 ----------
   *)
Notation grid2 := 1208925819614629174706176%Z.     (* 2^80 *)
Fixpoint squared (k : nat) (z : Z) : Z := match k with O => z | S k => squared k (Z.shiftr (z * z)
  80) end.
Definition below_exp (d : Z) : Z := squared 32 (grid2 + d * 256).
(* d in multiples of 2^-40, the result of 2^-80 *)
Lemma squared_sound k : forall z x, (0 <= z)%Z -> IZR z <= exp x * IZR grid2 ->
  (0 <= squared k z)%Z /\ IZR (squared k z) <= exp (x * 2 ^ k) * IZR grid2.
Proof.
  induction k as [|k IH]; intros z x Hz H; cbn [squared pow]; [rewrite Rmult_1_r; auto|].
  replace (x * (2 * 2 ^ k)) with ((x + x) * 2 ^ k) by ring. apply IH.
  - apply Z.shiftr_nonneg. nia.
  - pose proof (IZR_shiftr (z * z) 80 ltac:(lia)) as [L _]. change (2 ^ 80)%Z with grid2 in L.
    rewrite mult_IZR in L.
    assert (G : 0 < IZR grid2) by (apply IZR_lt; lia). apply IZR_le in Hz.
    apply Rmult_le_reg_r with (IZR grid2); [exact G|]. eapply Rle_trans; [exact L|].
    rewrite exp_plus.
    replace (exp x * exp x * IZR grid2 * IZR grid2) with ((exp x * IZR grid2) * (exp x * IZR
      grid2)) by ring. apply Rmult_le_compat; auto.
Qed.
Lemma below_exp_sound d : (0 <= grid2 + d * 256)%Z -> (0 <= below_exp d)%Z /\
  IZR (below_exp d) <= exp (IZR d / IZR grid) * IZR grid2.
Proof.
  intros H. unfold below_exp. pose proof grid_pos as G. set (x := IZR d / IZR grid).
  set (p := 2 ^ 32).
  assert (P : p <> 0) by (apply pow_nonzero; lra). assert (Px : x = x / p * p) by (field; exact P).
  rewrite Px. apply squared_sound; auto. rewrite plus_IZR, mult_IZR.
  pose proof (exp_ineq1_le (x / p)) as E.
  assert (G2 : 0 < IZR grid2) by (apply IZR_lt; lia). apply (Rmult_le_compat_r (IZR grid2)) in E;
    [|lra]. eapply Rle_trans; [|exact E]. right.
  assert (Q : IZR grid2 = 256 * p * IZR grid) by (unfold p; rewrite (pow_IZR 2 32), <- !mult_IZR;
    reflexivity).
  rewrite Rmult_plus_distr_r, Rmult_1_l. f_equal. rewrite Q. unfold x. field; repeat split; lra.
Qed.
Lemma exp_within lo up dl dh x : (0 < up)%Z -> IZR lo <= exp (IZR dl / IZR grid) * IZR grid2 ->
  IZR up <= exp (IZR (- dh) / IZR grid) * IZR grid2 ->
  IZR dl <= at40 x <= IZR dh -> IZR (Z.shiftr lo 40) <= at40 (exp x) <= IZR (grid2 * grid / up +
    1).
Proof.
  intros C3 L U [H1 H2]. pose proof grid_pos. unfold at40 in *.
  assert (G : IZR grid2 = IZR grid * IZR grid) by (rewrite <- mult_IZR; reflexivity).
  assert (M1 : exp (IZR dl / IZR grid) <= exp x).
  { destruct (Req_dec (IZR dl / IZR grid) x) as [->|N]; [lra|]. left. apply exp_increasing.
    assert (IZR dl / IZR grid <= x) by (apply Rmult_le_reg_r with (IZR grid); [lra|]; unfold Rdiv;
      rewrite Rmult_assoc, Rinv_l by lra; lra). lra. }
  assert (M2 : exp (IZR (- dh) / IZR grid) <= exp (- x)).
  { destruct (Req_dec (IZR (- dh) / IZR grid) (- x)) as [->|N]; [lra|]. left. apply exp_increasing.
    assert (IZR (- dh) / IZR grid <= - x) by (apply Rmult_le_reg_r with (IZR grid); [lra|];
      unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; rewrite opp_IZR; lra). lra. }
  split.
  - pose proof (IZR_shiftr lo 40 ltac:(lia)) as [K _]. change (2 ^ 40)%Z with grid in K.
    apply Rmult_le_reg_r with (IZR grid); [lra|]. eapply Rle_trans; [exact K|].
    eapply Rle_trans; [exact L|]. rewrite G, <- Rmult_assoc.
    repeat (apply Rmult_le_compat_r; [lra|]). exact M1.
  - assert (UP : IZR up <= exp (- x) * IZR grid2).
    { eapply Rle_trans; [exact U|]. apply Rmult_le_compat_r; [apply IZR_le; lia|exact M2]. }
    pose proof (exp_pos x). assert (EI : exp x * exp (- x) = 1) by (rewrite <- exp_plus,
      Rplus_opp_r; apply exp_0).
    assert (UX : exp x * IZR up <= IZR grid2).
    { apply Rle_trans with (exp x * (exp (- x) * IZR grid2)); [apply Rmult_le_compat_l; lra|].
      rewrite <- Rmult_assoc, EI. lra. }
    pose proof (Z.mul_succ_div_gt (grid2 * grid) up C3) as Q. apply IZR_lt in Q, C3.
    rewrite (mult_IZR up), succ_IZR in Q. rewrite plus_IZR.
    generalize dependent (IZR (grid2 * grid / up)). intros q Q. rewrite (mult_IZR grid2) in Q.
    apply Rmult_le_reg_r with (IZR up); [exact C3|].
    apply Rle_trans with (IZR grid2 * IZR grid); [|lra].
    apply Rle_trans with (exp x * IZR up * IZR grid); [right; ring|]. apply Rmult_le_compat_r; lra.
Qed.
Definition exp_box (dl dh : Z) : option box :=    (* dl <= x <= dh <= 0, all in multiples of 2^-40
   *)
  let lo := below_exp dl in let up := below_exp (- dh) in
  if ((0 <=? grid2 + dl * 256) && (dh <=? 0) && (0 <? up))%Z then Some (Z.shiftr lo 40,
    grid2 * grid / up + 1)%Z else None.
Lemma exp_box_sound dl dh x b : exp_box dl dh = Some b -> IZR dl <= at40 x <= IZR dh ->
  IZR (fst b) <= at40 (exp x) <= IZR (snd b).
Proof.
  unfold exp_box. cbv zeta. generalize (below_exp_sound dl) (below_exp_sound (- dh)).
  generalize (below_exp dl) (below_exp (- dh)).
  intros lo up L U. destruct andb eqn:C; [|discriminate]. apply andb_prop in C as [C C3].
  apply andb_prop in C as [C1 C2].
  apply Z.leb_le in C1, C2. apply Z.ltb_lt in C3. intros E H. apply some_inj in E. subst b.
  apply (exp_within lo up dl dh x C3); [apply L, C1|apply U; lia|exact H].
Qed.

(* ---------- the difference of two scores, and exp of it as the device gives it ---------- *)
Definition minus_box (a b : box) : option box :=
  let l := (fst a - snd b)%Z in let h := (snd a - fst b)%Z in
  if ((- 2 ^ 60 <=? l) && (h <=? 0))%Z then Some (l + Z.shiftr l 24, h - Z.shiftr h 24)%Z else
    None.
Lemma at40_small x : Rabs (at40 x) <= IZR (2 ^ 61) -> Rabs x < room.
Proof.
  unfold at40. rewrite Rabs_mult, (Rabs_pos_eq (IZR grid)) by (apply IZR_le; lia). intros H.
  apply Rmult_lt_reg_r with (IZR grid); [apply grid_pos|]. eapply Rle_lt_trans; [exact H|].
  rewrite grid_is. unfold room. rewrite <- bpow_plus.
  change (IZR (2 ^ 61)) with (bpow radix2 61). apply bpow_lt. lia.
Qed.
Lemma minus_box_sound a b c x y : minus_box a b = Some c -> inb a x -> inb b y ->
  inb c (Bminus mode_NE x y).
Proof.
  unfold minus_box. destruct andb eqn:C; [|discriminate]. apply andb_prop in C as [C1 C2].
  apply Z.leb_le in C1, C2.
  intros E [Fx [X1 X2]] [Fy [Y1 Y2]]. apply some_inj in E. subst c.
  destruct (rnd_plus x (Bopp y)) as [d [Hd R]]. rewrite B2R_Bopp in R. fold (B2R x - B2R y) in R.
  set (l := (fst a - snd b)%Z) in *. set (h := (snd a - fst b)%Z) in *.
  assert (D : IZR l <= at40 (B2R x - B2R y) <= IZR h) by (unfold l, h, at40 in *;
    rewrite !minus_IZR; lra).
  set (z := at40 (B2R x - B2R y)) in *.
  assert (Z0 : at40 (rnd (B2R x - B2R y)) = z + d * z) by (rewrite R; unfold z, at40; ring).
  pose proof u_pos. pose proof u_is as U. change (IZR (2 ^ 24)) with 16777216 in U.
  apply Rabs_le_inv in Hd. apply IZR_le in C1, C2.
  assert (B : IZR (l + Z.shiftr l 24) <= z + d * z <= IZR (h - Z.shiftr h 24)).
  { rewrite plus_IZR, minus_IZR. pose proof (IZR_shiftr l 24 ltac:(lia)) as [K _].
    pose proof (IZR_shiftr h 24 ltac:(lia)) as [K' _].
    change (IZR (2 ^ 24)) with 16777216 in *. assert (IZR (Z.shiftr l 24) <= u * IZR l) by nra.
    assert (IZR (Z.shiftr h 24) <= u * IZR h) by nra.
    assert (u < 1) by nra. split; nra. }
  pose proof (Bminus_correct 24 128 _ _ mode_NE x y Fx Fy) as BC.
  rewrite below_room in BC.
  - destruct BC as [B1 [B2 _]]. split; [exact B2|]. cbn [fst snd]. rewrite B1, Z0. exact B.
  - apply at40_small. rewrite Z0. assert (u < 1) by nra.
    change (IZR (- 2 ^ 60)) with (- IZR (2 ^ 60)) in C1.
    change (IZR (2 ^ 61)) with (IZR (2 * 2 ^ 60)). rewrite mult_IZR. apply Rabs_le. split; nra.
Qed.
Definition device_exp_box (d : box) : option box :=
  match exp_box (fst d) (snd d) with
  | Some (l, h) => if (0 <=? l)%Z then Some (l - Z.shiftr l 18 - 2, h + Z.shiftr h 18 + 2)%Z else
    None
  | None => None
  end.
Lemma device_exp_sound ex d b x y : is_exp ex -> device_exp_box d = Some b -> inb d x -> ex x y ->
  inb b y.
Proof.
  intros HX. unfold device_exp_box. destruct exp_box as [[l h]|] eqn:E; [|discriminate].
  destruct (Z.leb_spec 0 l) as [C|]; [|discriminate].
  intros H [Fx Hx] Hy. apply some_inj in H. subst b. pose proof (exp_box_sound _ _ _ _ E Hx) as [L
    H]. cbn [fst snd] in *.
  assert (N : B2R x <= 0).
  { unfold exp_box in E. destruct andb eqn:A; [|discriminate]. apply andb_prop in A as [A _].
    apply andb_prop in A as [_ A]. apply Z.leb_le, IZR_le in A.
    unfold at40 in Hx. pose proof grid_pos. nra. }
  destruct (proj2 HX x y Hy Fx N) as [F [_ A]]. split; [exact F|]. cbn [fst snd].
  apply Rabs_le_inv in A.
  set (e := exp (B2R x)) in *. pose proof (exp_pos (B2R x)) as EP. fold e in EP.
  pose proof grid_pos.
  assert (K : 32 * bpow radix2 (-23) = / 262144) by (cbn; lra). rewrite K in A.
  assert (T : at40 (bpow radix2 (-126)) <= 1).
  { unfold at40. rewrite grid_is, <- bpow_plus. apply (bpow_le radix2 _ 0). lia. }
  unfold at40 in *. rewrite !minus_IZR, !plus_IZR.
  pose proof (IZR_shiftr l 18 ltac:(lia)) as [_ Kl]. pose proof (IZR_shiftr h 18 ltac:(lia)) as [_
    Kh]. change (IZR (2 ^ 18)) with 262144 in *.
  assert (G : - (/ 262144 * (e * IZR grid)) - 1 <= B2R y * IZR grid - e * IZR grid <= / 262144 *
    (e * IZR grid) + 1).
  { replace (B2R y * IZR grid - e * IZR grid) with ((B2R y - e) * IZR grid) by ring. split; nra. }
  apply IZR_le in C. split; lra.
Qed.

(* ---------- quotients of numbers that are not negative ---------- *)
Definition div_box (a b : box) : option box :=
  if ((0 <=? fst a) && (snd a <=? 2 ^ 60) && (2 ^ 20 <=? fst b) && (fst a <=? snd a) &&
    (fst b <=? snd b))%Z then
    let l := (fst a * grid / snd b)%Z in let h := (snd a * grid / fst b + 1)%Z in
    Some (l - Z.shiftr l 24 - 2, h + Z.shiftr h 24 + 2)%Z
  else None.
Lemma div_box_sound a b c x y : div_box a b = Some c -> inb a x -> inb b y ->
  inb c (Bdiv mode_NE x y).
Proof.
  unfold div_box. destruct andb eqn:C; [|discriminate]. repeat (apply andb_prop in C as [C ?]).
  repeat match goal with H : (_ <=? _)%Z = true |- _ => apply Z.leb_le in H end.
  intros E [Fx [X1 X2]] [Fy [Y1 Y2]]. apply some_inj in E. subst c. cbn [fst snd].
  pose proof grid_pos as GP.
  set (l := (fst a * grid / snd b)%Z). set (h := (snd a * grid / fst b + 1)%Z).
  assert (YP : 0 < B2R y). { assert (0 < IZR (fst b)) by (apply IZR_lt; lia). unfold at40 in Y1.
  nra. }
  assert (XP : 0 <= B2R x). { apply IZR_le in C. unfold at40 in X1. nra. }
  set (q := B2R x / B2R y).
  assert (Q0 : 0 <= q) by (unfold q, Rdiv; apply Rmult_le_pos; [lra|left;
    now apply Rinv_0_lt_compat]).
  assert (QY : q * at40 (B2R y) = at40 (B2R x)) by (unfold q, at40; field; lra).
  assert (QL : IZR l <= at40 q).
  { pose proof (Z.mul_div_le (fst a * grid) (snd b) ltac:(lia)) as D. fold l in D.
    apply IZR_le in D. rewrite !mult_IZR in D.
    assert (0 < IZR (snd b)) by (apply IZR_lt; lia). apply Rmult_le_reg_l with (IZR (snd b));
      [lra|]. eapply Rle_trans; [exact D|].
    apply Rle_trans with (at40 (B2R x) * IZR grid); [apply Rmult_le_compat_r; lra|]. rewrite <- QY.
    unfold at40 at 2. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. rewrite Rmult_comm.
    apply Rmult_le_compat_r; lra. }
  assert (QH : at40 q <= IZR h).
  { pose proof (Z.mul_succ_div_gt (snd a * grid) (fst b) ltac:(lia)) as D.
    replace (Z.succ (snd a * grid / fst b)) with h in D by (unfold h; lia).
    apply IZR_lt in D. rewrite !mult_IZR in D. assert (0 < IZR (fst b)) by (apply IZR_lt; lia).
    apply Rmult_le_reg_l with (IZR (fst b)); [lra|].
    apply Rle_trans with (IZR (snd a) * IZR grid); [|lra].
    apply Rle_trans with (at40 (B2R x) * IZR grid); [|apply Rmult_le_compat_r; lra].
    rewrite <- QY. unfold at40 at 1. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    rewrite Rmult_comm. apply Rmult_le_compat_l; lra. }
  destruct (rnd_any q) as [d [e [Hd [He R]]]]. apply Rabs_le_inv in Hd, He. pose proof u_pos.
  pose proof eta_pos.
  pose proof u_is as U. change (IZR (2 ^ 24)) with 16777216 in U.
  assert (EG : eta * IZR grid <= 1) by (unfold eta; rewrite grid_is, <- bpow_plus;
    apply (bpow_le radix2 _ 0); lia).
  assert (RR : at40 (rnd q) = at40 q + d * at40 q + e * IZR grid) by (rewrite R; unfold at40;
    ring).
  assert (AQ : 0 <= at40 q) by (unfold at40; nra).
  assert (B : IZR (l - Z.shiftr l 24 - 2) <= at40 (rnd q) <= IZR (h + Z.shiftr h 24 + 2)).
  { rewrite RR, !minus_IZR, !plus_IZR. pose proof (IZR_shiftr l 24 ltac:(lia)) as [_ Kl].
    pose proof (IZR_shiftr h 24 ltac:(lia)) as [_ Kh].
    change (IZR (2 ^ 24)) with 16777216 in *.
    assert (L0 : 0 <= IZR l) by (apply IZR_le; unfold l; apply Z.div_pos; lia).
    assert (- 1 <= e * IZR grid <= 1) by (split; nra).
    assert (u * IZR l <= IZR (Z.shiftr l 24) + 1) by nra.
    assert (u * IZR h <= IZR (Z.shiftr h 24) + 1) by nra.
    assert (- (u * at40 q) <= d * at40 q <= u * at40 q) by (split; nra).
    assert (u < 1) by nra. split; nra. }
  pose proof (Bdiv_correct 24 128 _ _ mode_NE x y ltac:(lra)) as BC. fold q in BC.
  assert (S : Rabs (rnd q) < room).
  { assert (HM : (h <= 2 ^ 90)%Z).
    { unfold h. assert (snd a * grid / fst b <= 2 ^ 60 * grid / 2 ^ 20)%Z;
        [|change (2 ^ 60 * grid / 2 ^ 20)%Z with (2 ^ 80)%Z in *; lia].
      apply Z.le_trans with (2 ^ 60 * grid / fst b)%Z; [apply Z.div_le_mono;
        lia|apply Z.div_le_compat_l; lia]. }
    assert (h + Z.shiftr h 24 + 2 <= 2 ^ 92)%Z.
    { assert (Z.shiftr h 24 <= h)%Z; [|lia]. rewrite Z.shiftr_div_pow2 by lia.
      apply Z.div_le_upper_bound; [lia|].
      assert (0 <= h)%Z by (unfold h; pose proof (Z.div_pos (snd a * grid) (fst b)); lia). nia. }
    assert (-2 <= l - Z.shiftr l 24 - 2)%Z.
    { assert (0 <= l)%Z by (unfold l; apply Z.div_pos; lia). assert (Z.shiftr l 24 <= l)%Z;
        [|lia]. rewrite Z.shiftr_div_pow2 by lia. apply Z.div_le_upper_bound; [lia|nia]. }
    assert (AB : Rabs (at40 (rnd q)) <= IZR (2 ^ 92)).
    { apply Rabs_le. destruct B. split; [apply Rle_trans with (IZR (-2)); [rewrite <- opp_IZR;
        apply IZR_le; lia|eapply Rle_trans; [apply IZR_le; eassumption|lra]]|].
      eapply Rle_trans; [eassumption|apply IZR_le; lia]. }
    unfold at40 in AB. rewrite Rabs_mult, (Rabs_pos_eq (IZR grid)) in AB by lra.
    apply Rmult_lt_reg_r with (IZR grid); [lra|].
    eapply Rle_lt_trans; [exact AB|]. rewrite grid_is. unfold room. rewrite <- bpow_plus.
    change (IZR (2 ^ 92)) with (bpow radix2 92). apply bpow_lt. lia. }
  rewrite below_room in BC by exact S. destruct BC as [B1 [B2 _]]. split; [now rewrite B2|].
  rewrite B1. exact B.
Qed.
(* the same where the sign is not known *)
Definition abs_div (a : Z) (b : box) : option Z :=
  if ((0 <=? a) && (a <=? 2 ^ 60) && (2 ^ 20 <=? fst b))%Z then let h :=
    (a * grid / fst b + 1)%Z in Some (h + Z.shiftr h 24 + 2)%Z else None.
Lemma abs_div_sound a b c x y : abs_div a b = Some c -> is_finite x = true ->
  Rabs (at40 (B2R x)) <= IZR a -> inb b y ->
  is_finite (Bdiv mode_NE x y) = true /\ Rabs (at40 (B2R (Bdiv mode_NE x y))) <= IZR c.
Proof.
  unfold abs_div. destruct andb eqn:C; [|discriminate]. repeat (apply andb_prop in C as [C ?]).
  repeat match goal with H : (_ <=? _)%Z = true |- _ => apply Z.leb_le in H end.
  intros E Fx X1 [Fy [Y1 Y2]]. apply some_inj in E. subst c. pose proof grid_pos as GP.
  set (h := (a * grid / fst b + 1)%Z).
  assert (B0 : 0 < IZR (fst b)) by (apply IZR_lt; lia). assert (YP : 0 < B2R y) by (unfold at40 in
    Y1; nra).
  set (q := B2R x / B2R y). assert (QY : Rabs (at40 q) * at40 (B2R y) = Rabs (at40 (B2R x)) * IZR
    grid).
  { unfold q, at40 at 1, Rdiv. rewrite !Rabs_mult, (Rabs_pos_eq (/ B2R y)), (Rabs_pos_eq (IZR
      grid)) by (try lra; left; now apply Rinv_0_lt_compat).
    unfold at40. rewrite Rabs_mult, (Rabs_pos_eq (IZR grid)) by lra. field. lra. }
  assert (QH : Rabs (at40 q) <= IZR h).
  { pose proof (Z.mul_succ_div_gt (a * grid) (fst b) ltac:(lia)) as D.
    replace (Z.succ (a * grid / fst b)) with h in D by (unfold h; lia).
    apply IZR_lt in D. rewrite !mult_IZR in D. apply Rmult_le_reg_l with (IZR (fst b)); [lra|].
    pose proof (Rabs_pos (at40 q)). apply Rle_trans with (Rabs (at40 q) * at40 (B2R y));
      [rewrite Rmult_comm; apply Rmult_le_compat_l; lra|].
    rewrite QY. apply Rle_trans with (IZR a * IZR grid); [apply Rmult_le_compat_r; lra|lra]. }
  destruct (rnd_any q) as [d [e [Hd [He R]]]]. pose proof u_pos. pose proof eta_pos.
  pose proof u_is as U. change (IZR (2 ^ 24)) with 16777216 in U.
  assert (EG : eta * IZR grid <= 1) by (unfold eta; rewrite grid_is, <- bpow_plus;
    apply (bpow_le radix2 _ 0); lia).
  assert (RR : at40 (rnd q) = at40 q + d * at40 q + e * IZR grid) by (rewrite R; unfold at40;
    ring).
  assert (B : Rabs (at40 (rnd q)) <= IZR (h + Z.shiftr h 24 + 2)).
  { rewrite RR, !plus_IZR. pose proof (IZR_shiftr h 24 ltac:(lia)) as [_ Kh].
    change (IZR (2 ^ 24)) with 16777216 in Kh.
    eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r;
      apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq (IZR grid)) by lra.
    pose proof (Rabs_pos (at40 q)). assert (Rabs d * Rabs (at40 q) <= u * IZR h) by (apply
      Rmult_le_compat; auto using Rabs_pos).
    assert (Rabs e * IZR grid <= 1) by nra. assert (u * IZR h <= IZR (Z.shiftr h 24) + 1) by nra.
    lra. }
  pose proof (Bdiv_correct 24 128 _ _ mode_NE x y ltac:(lra)) as BC. fold q in BC.
  assert (S : Rabs (rnd q) < room).
  { assert (HM : (h <= 2 ^ 90)%Z).
    { unfold h. assert (a * grid / fst b <= 2 ^ 60 * grid / 2 ^ 20)%Z; [|change (2 ^ 60 * grid / 2
        ^ 20)%Z with (2 ^ 80)%Z in *; lia].
      apply Z.le_trans with (2 ^ 60 * grid / fst b)%Z; [apply Z.div_le_mono;
        lia|apply Z.div_le_compat_l; lia]. }
    assert (h + Z.shiftr h 24 + 2 <= 2 ^ 92)%Z.
    { assert (Z.shiftr h 24 <= h)%Z; [|lia]. rewrite Z.shiftr_div_pow2 by lia.
      apply Z.div_le_upper_bound; [lia|].
      assert (0 <= h)%Z by (unfold h; pose proof (Z.div_pos (a * grid) (fst b)); lia). nia. }
    assert (AB : Rabs (at40 (rnd q)) <= IZR (2 ^ 92)) by (eapply Rle_trans; [exact B|apply IZR_le;
      lia]).
    unfold at40 in AB. rewrite Rabs_mult, (Rabs_pos_eq (IZR grid)) in AB by lra.
    apply Rmult_lt_reg_r with (IZR grid); [lra|].
    eapply Rle_lt_trans; [exact AB|]. rewrite grid_is. unfold room. rewrite <- bpow_plus.
    change (IZR (2 ^ 92)) with (bpow radix2 92). apply bpow_lt. lia. }
  rewrite below_room in BC by exact S. destruct BC as [B1 [B2 _]]. split; [now rewrite B2|].
  rewrite B1. exact B.
Qed.

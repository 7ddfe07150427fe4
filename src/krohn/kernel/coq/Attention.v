(* Heads that give every letter the same share, so that they count. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax.
Import ListNotations.
Open Scope R_scope.

(* ---------- sums over positions ---------- *)
Fixpoint Sum (f : nat -> R) (n : nat) : R := match n with O => 0 | S k => Sum f k + f k end.
Lemma tot_positions f g n : at80 (tot (map (fun i => (f i, g i)) (seq 0 n))) = Sum (fun i => at80 (B2R (f i) * B2R (g i))) n.
Proof.
  induction n as [|n IH]; [unfold at80; cbn; ring|]. rewrite seq_S, map_app, tot_app. cbn [Sum Nat.add]. rewrite <- IH.
  unfold at80. cbn [map tot fold_right fst snd]. ring.
Qed.
Lemma size_positions f g n : at80 (Bounds.size (map (fun i => (f i, g i)) (seq 0 n))) = Sum (fun i => Rabs (at80 (B2R (f i) * B2R (g i)))) n.
Proof.
  induction n as [|n IH]; [unfold at80; cbn; ring|]. rewrite seq_S, map_app, size_app. cbn [Sum Nat.add]. rewrite <- IH.
  unfold at80 at 3. pose proof grid_pos. rewrite (Rabs_mult _ (IZR grid)), (Rabs_mult _ (IZR grid)), (Rabs_pos_eq (IZR grid)) by lra.
  unfold at80. cbn [map Bounds.size fold_right fst snd]. ring.
Qed.
Lemma Sum_le f g n : (forall i, (i < n)%nat -> f i <= g i) -> Sum f n <= Sum g n.
Proof. induction n; intros H; cbn; [lra|]. apply Rplus_le_compat; [apply IHn; auto with arith|apply H; lia]. Qed.
Lemma Sum_shift f n : Sum f (S n) = f O + Sum (fun i => f (S i)) n.
Proof. induction n; cbn in *; [ring|]. rewrite IHn. ring. Qed.
Lemma Sum_cut f n t : (t < n)%nat -> (forall i, (t < i < n)%nat -> f i = 0) -> Sum f n = Sum f (S t).
Proof.
  induction n as [|n IH]; intros H Z0; [lia|]. destruct (Nat.eq_dec t n) as [->|]; [reflexivity|].
  cbn [Sum]. rewrite (Z0 n) by lia. rewrite IH; [cbn [Sum]; ring|lia|intros; apply Z0; lia].
Qed.
Lemma Sum_const c n : Sum (fun _ => c) n = INR n * c.
Proof. induction n; cbn [Sum]; [cbn; ring|]. rewrite IHn, S_INR. ring. Qed.
Lemma Sum_around c r n : Sum (fun i => c i + r) n = Sum c n + INR n * r.
Proof. induction n; cbn [Sum]; [cbn; ring|]. rewrite IHn, S_INR. ring. Qed.
Lemma Sum_between f n t lo0 hi0 lo hi : (t < n)%nat -> lo0 <= f O <= hi0 -> (forall i, (1 <= i <= t)%nat -> lo i <= f i <= hi i) ->
  (forall i, (t < i < n)%nat -> f i = 0) -> lo0 + Sum (fun i => lo (S i)) t <= Sum f n <= hi0 + Sum (fun i => hi (S i)) t.
Proof.
  intros H H0 H1 H2. rewrite (Sum_cut f n t H H2), Sum_shift. 
  assert (Sum (fun i => lo (S i)) t <= Sum (fun i => f (S i)) t) by (apply Sum_le; intros; apply H1; lia).
  assert (Sum (fun i => f (S i)) t <= Sum (fun i => hi (S i)) t) by (apply Sum_le; intros; apply H1; lia). lra.
Qed.

(* ---------- the shares of a row of softmax: that of position 0, that of a letter ---------- *)
Lemma one_is : is_finite one = true /\ B2R one = 1.
Proof.
  split; [reflexivity|]. assert (E : B2R one = F2R (Float radix2 8388608 (-23))) by reflexivity. rewrite E. unfold F2R. cbn. lra.
Qed.
Lemma inb_one : inb one_box one.
Proof. destruct one_is as [F E]. split; [exact F|]. rewrite E. unfold at40. cbn [fst snd one_box]. lra. Qed.
Lemma inb_zero : inb zero_box zero.
Proof. split; [reflexivity|]. unfold at40. cbn. lra. Qed.
Lemma smaller_if x y : is_finite x = true -> is_finite y = true -> B2R x < B2R y -> smaller x y = true.
Proof. intros Fx Fy H. unfold smaller. rewrite Bltb_correct by assumption. now apply Rlt_bool_true. Qed.
Lemma minus_self x : is_finite x = true -> is_finite (Bminus mode_NE x x) = true /\ B2R (Bminus mode_NE x x) = 0.
Proof.
  intros F. pose proof (Bminus_correct 24 128 _ _ mode_NE x x F F) as C. rewrite Rminus_eq_0, round_0 in C by apply valid_rnd_N.
  rewrite Rabs_R0, Rlt_bool_true in C by apply bpow_gt_0. tauto.
Qed.

Definition shares (T t : nat) (s0 sl : box) : option (box * box) :=
  if (snd sl <? fst s0)%Z then
    match minus_box sl s0 with None => None | Some d =>
    match device_exp_box d with None => None | Some e =>
    if (0 <=? fst e)%Z then
      let k := (Z.of_nat t * grid)%Z in
      match widened (Z.of_nat (S T)) (grid2 + k * fst e) (grid2 + k * snd e) (grid2 + k * snd e) with None => None | Some total =>
      match div_box one_box total, div_box e total with Some w0, Some w => Some (w0, w) | _, _ => None end end
    else None end end
  else None.
Definition is_null (x : f32) : Prop := is_finite x = true /\ B2R x = 0.
Lemma grid2_is : IZR grid2 = IZR grid * IZR grid. Proof. rewrite <- mult_IZR. reflexivity. Qed.
Lemma shares_sound ex T n t s w s0 sl w0 wl : is_exp ex -> (t < n <= S T)%nat -> shares T t s0 sl = Some (w0, wl) ->
  inb s0 (s O) -> (forall i, (1 <= i <= t)%nat -> inb sl (s i)) -> softmax ex n t s w ->
  inb w0 (w O) /\ (forall i, (1 <= i <= t)%nat -> inb wl (w i)) /\ (forall i, (t < i)%nat -> is_null (w i)).
Proof.
  intros HX Hn E H0 HL [m [total [[j [Hj Hm]] [Hmax [HS HW]]]]]. unfold shares in E.
  destruct (Z.ltb_spec (snd sl) (fst s0)) as [C|]; [|discriminate]. destruct (minus_box sl s0) as [d|] eqn:ED; [|discriminate].
  destruct (device_exp_box d) as [e|] eqn:EE; [|discriminate]. destruct (Z.leb_spec 0 (fst e)) as [Ce|]; [|discriminate]. cbv zeta in E.
  destruct (widened _ _ _ _) as [tb|] eqn:ET; [|discriminate]. destruct (div_box one_box tb) as [q0|] eqn:E0; [|discriminate].
  destruct (div_box e tb) as [ql|] eqn:EL; [|discriminate]. injection E as -> ->.
  assert (M : m = s O).
  { destruct j as [|j]; [congruence|]. exfalso. pose proof (Hmax O ltac:(lia)) as K. rewrite smaller_if in K; [discriminate| | |].
    - rewrite <- Hm. apply (HL (S j)). lia.
    - apply H0.
    - rewrite <- Hm. destruct (HL (S j) ltac:(lia)) as [_ [_ A]]. destruct H0 as [_ [B _]]. apply IZR_lt in C. unfold at40 in *. pose proof grid_pos. nra. }
  subst m. rewrite M in *. clear M.
  set (x := exponential ex t (s O) s) in *.
  assert (X0 : x O = one).
  { unfold x, exponential. cbn [Nat.leb]. destruct (minus_self (s O) (proj1 H0)) as [F R]. apply HX; auto. lra. }
  assert (XL : forall i, (1 <= i <= t)%nat -> inb e (x i)).
  { intros i Hi. unfold x, exponential. rewrite (proj2 (Nat.leb_le i t)) by lia. eapply device_exp_sound; eauto. eapply minus_box_sound; eauto. }
  assert (XH : forall i, (t < i)%nat -> x i = zero).
  { intros i Hi. unfold x, exponential. rewrite (proj2 (Nat.leb_gt i t)) by lia. reflexivity. }
  destruct one_is as [F1 R1]. pose proof grid_pos. pose proof grid2_is as G2.
  assert (TB : inb tb total).
  { eapply widened_sound with (m := S T); [exact HS| | | | |exact ET].
    - unfold all_finite. apply Forall_forall. intros p Hp. apply in_map_iff in Hp as [i [<- Hi]]. cbn [fst snd]. split; [|exact F1].
      destruct i as [|i]; [rewrite X0; exact F1|]. destruct (le_lt_dec (S i) t); [apply (XL (S i)); lia|rewrite XH by lia; reflexivity].
    - rewrite map_length, seq_length. lia.
    - rewrite tot_positions. rewrite !plus_IZR, !mult_IZR, <- INR_IZR_INZ. rewrite R1.
      pose proof (Sum_between (fun i => at80 (B2R (x i) * 1)) n t (IZR grid2) (IZR grid2) (fun _ => IZR grid * IZR (fst e)) (fun _ => IZR grid * IZR (snd e))) as SB.
      cbv beta in SB. rewrite !Sum_const in SB. replace (INR t * IZR grid * IZR (fst e)) with (INR t * (IZR grid * IZR (fst e))) by ring.
      replace (INR t * IZR grid * IZR (snd e)) with (INR t * (IZR grid * IZR (snd e))) by ring. apply SB; clear SB.
      + lia.
      + rewrite X0, R1, G2. unfold at80. lra.
      + intros i Hi. destruct (XL i Hi) as [_ A]. unfold at80, at40 in *. rewrite Rmult_1_r. split; rewrite (Rmult_comm (IZR grid)); apply Rmult_le_compat_r; lra.
      + intros i Hi. rewrite XH by lia. unfold at80. cbn [B2R zero]. ring.
    - rewrite size_positions. rewrite !plus_IZR, !mult_IZR, <- INR_IZR_INZ. rewrite R1.
      pose proof (Sum_between (fun i => Rabs (at80 (B2R (x i) * 1))) n t (IZR grid2) (IZR grid2) (fun _ => IZR grid * IZR (fst e)) (fun _ => IZR grid * IZR (snd e))) as SB.
      cbv beta in SB. rewrite !Sum_const in SB. replace (INR t * IZR grid * IZR (snd e)) with (INR t * (IZR grid * IZR (snd e))) by ring. apply SB; clear SB.
      + lia.
      + rewrite X0, R1, G2. unfold at80. rewrite Rabs_pos_eq by nra. lra.
      + intros i Hi. destruct (XL i Hi) as [_ A]. apply IZR_le in Ce. unfold at80, at40 in *. rewrite Rmult_1_r. rewrite Rabs_pos_eq by nra.
        split; rewrite (Rmult_comm (IZR grid)); apply Rmult_le_compat_r; lra.
      + intros i Hi. rewrite XH by lia. unfold at80. cbn [B2R zero]. rewrite !Rmult_0_l. apply Rabs_R0. }
  split; [|split].
  - rewrite HW. fold x. rewrite X0. eapply div_box_sound; eauto. apply inb_one.
  - intros i Hi. rewrite HW. eapply div_box_sound; eauto.
  - intros i Hi. rewrite HW. change (exponential ex t (s O) s i) with (x i). rewrite XH by lia.
    assert (P : B2R total <> 0).
    { unfold div_box in E0. destruct andb eqn:A in E0; [|discriminate]. repeat (apply andb_prop in A as [A ?]).
      repeat match goal with H : (_ <=? _)%Z = true |- _ => apply Z.leb_le in H end. destruct TB as [_ [B _]].
      assert (0 < IZR (fst tb)) by (apply IZR_lt; lia). unfold at40 in B. nra. }
    pose proof (Bdiv_correct 24 128 _ _ mode_NE zero total P) as BC. cbn [B2R zero] in BC. unfold Rdiv in BC.
    rewrite Rmult_0_l, round_0, Rabs_R0, Rlt_bool_true in BC by (try apply valid_rnd_N; apply bpow_gt_0).
    destruct BC as [B1 [B2 _]]. split; [rewrite B2; reflexivity|exact B1].
Qed.

(* ---------- a weighted sum of values that are nearly multiples of a unit ---------- *)
Fixpoint count (steps : nat -> Z) (t : nat) : Z := match t with O => 0%Z | S k => (count steps k + steps (S k))%Z end.   (* positions 1 to t *)
Lemma count_is c steps t : Sum (fun i => c * IZR (steps (S i))) t = c * IZR (count steps t).
Proof. induction t; cbn [Sum count]; [ring|]. rewrite IHt, plus_IZR. ring. Qed.
Definition size_of_box (b : box) : Z := Z.max (Z.abs (fst b)) (Z.abs (snd b)).
(* share W give or take e, unit G give or take dl, values of size at most V; first weight w0 and value v0; counts from nl to nh *)
Definition counter_box (T : nat) (W e G dl V w0 v0 nl nh : Z) : option box :=
  let k := Z.of_nat T in
  if ((0 <=? W) && (0 <=? e) && (0 <=? G) && (0 <=? dl) && (0 <=? V) && (0 <=? w0) && (0 <=? v0))%Z then
    let off := (w0 * v0 + k * (e * V + W * dl))%Z in
    widened (Z.of_nat (S T)) (W * G * nl - off) (W * G * nh + off) (w0 * v0 + k * ((W + e) * V))
  else None.
Lemma counter_sound T n t W e G dl V w0 v0 nl nh b (w v : nat -> f32) (steps : nat -> Z) y : (t < n <= S T)%nat ->
  counter_box T W e G dl V w0 v0 nl nh = Some b -> (nl <= count steps t <= nh)%Z ->
  is_finite (w O) = true -> Rabs (at40 (B2R (w O))) <= IZR w0 -> Rabs (at40 (B2R (v O))) <= IZR v0 ->
  (forall i, (1 <= i <= t)%nat -> is_finite (w i) = true /\ Rabs (at40 (B2R (w i)) - IZR W) <= IZR e) ->
  (forall i, (t < i)%nat -> is_null (w i)) ->
  (forall i, (i < n)%nat -> is_finite (v i) = true) ->
  (forall i, (1 <= i <= t)%nat -> Rabs (at40 (B2R (v i)) - IZR (G * steps i)) <= IZR dl /\ Rabs (at40 (B2R (v i))) <= IZR V) ->
  sums (map (fun i => (w i, v i)) (seq 0 n)) y -> inb b y.
Proof.
  intros Hn E HC F0 W0 V0 HW HN FV HV HS. unfold counter_box in E. destruct andb eqn:A; [|discriminate]. repeat (apply andb_prop in A as [A ?]).
  repeat match goal with H : (_ <=? _)%Z = true |- _ => apply Z.leb_le, IZR_le in H end. cbv zeta in E.
  assert (Ht : INR t <= INR T) by (apply le_INR; lia). pose proof (pos_INR t) as Ht0.
  assert (P : forall i, at80 (B2R (w i) * B2R (v i)) = at40 (B2R (w i)) * at40 (B2R (v i))) by (intros; unfold at80, at40; ring).
  assert (T0 : Rabs (at40 (B2R (w O)) * at40 (B2R (v O))) <= IZR w0 * IZR v0) by (rewrite Rabs_mult; apply Rmult_le_compat; auto using Rabs_pos).
  assert (TH : forall i, (t < i < n)%nat -> at40 (B2R (w i)) * at40 (B2R (v i)) = 0).
  { intros i Hi. destruct (HN i ltac:(lia)) as [_ Z0]. rewrite Z0. unfold at40. ring. }
  set (r := IZR e * IZR V + IZR W * IZR dl).
  assert (TL : forall i, (1 <= i <= t)%nat -> Rabs (at40 (B2R (w i)) * at40 (B2R (v i)) - IZR W * IZR G * IZR (steps i)) <= r).
  { intros i Hi. destruct (HW i Hi) as [_ A1]. destruct (HV i Hi) as [A2 A3]. rewrite mult_IZR in A2.
    replace (at40 (B2R (w i)) * at40 (B2R (v i)) - IZR W * IZR G * IZR (steps i))
      with ((at40 (B2R (w i)) - IZR W) * at40 (B2R (v i)) + IZR W * (at40 (B2R (v i)) - IZR G * IZR (steps i))) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq (IZR W)) by assumption. unfold r.
    apply Rplus_le_compat; [apply Rmult_le_compat; auto using Rabs_pos|apply Rmult_le_compat_l; assumption]. }
  assert (TS : forall i, (1 <= i <= t)%nat -> Rabs (at40 (B2R (w i)) * at40 (B2R (v i))) <= (IZR W + IZR e) * IZR V).
  { intros i Hi. destruct (HW i Hi) as [_ A1]. destruct (HV i Hi) as [A2 A3]. rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos.
    apply Rabs_le_inv in A1. apply Rabs_le. lra. }
  assert (r0 : 0 <= r) by (unfold r; nra).
  eapply widened_sound with (m := S T); [exact HS| | | | |exact E].
  - unfold all_finite. apply Forall_forall. intros p Hp. apply in_map_iff in Hp as [i [<- Hi]]. apply in_seq in Hi. cbn [fst snd]. split; [|apply FV; lia].
    destruct i as [|i]; [exact F0|]. destruct (le_lt_dec (S i) t); [apply HW; lia|apply HN; lia].
  - rewrite map_length, seq_length. lia.
  - rewrite tot_positions. rewrite minus_IZR, !plus_IZR, !mult_IZR, !plus_IZR, !mult_IZR, <- INR_IZR_INZ. fold r.
    destruct (Sum_between (fun i => at80 (B2R (w i) * B2R (v i))) n t (- (IZR w0 * IZR v0)) (IZR w0 * IZR v0)
      (fun i => IZR W * IZR G * IZR (steps i) + - r) (fun i => IZR W * IZR G * IZR (steps i) + r)) as [S1 S2].
    + lia.
    + rewrite P. apply Rabs_le_inv in T0. lra.
    + intros i Hi. rewrite P. pose proof (TL i Hi) as Q. apply Rabs_le_inv in Q. lra.
    + intros i Hi. rewrite P. now apply TH.
    + cbv beta in S1, S2. rewrite !(Sum_around (fun i => IZR W * IZR G * IZR (steps (S i)))), count_is in S1, S2. destruct HC as [C1 C2]. apply IZR_le in C1, C2.
      assert (0 <= IZR W * IZR G) by nra. assert (INR t * r <= INR T * r) by (apply Rmult_le_compat_r; lra).
      assert (IZR W * IZR G * IZR nl <= IZR W * IZR G * IZR (count steps t)) by (apply Rmult_le_compat_l; lra).
      assert (IZR W * IZR G * IZR (count steps t) <= IZR W * IZR G * IZR nh) by (apply Rmult_le_compat_l; lra). lra.
  - rewrite size_positions. rewrite !plus_IZR, !mult_IZR, !plus_IZR, <- INR_IZR_INZ.
    destruct (Sum_between (fun i => Rabs (at80 (B2R (w i) * B2R (v i)))) n t 0 (IZR w0 * IZR v0)
      (fun i => 0) (fun i => (IZR W + IZR e) * IZR V)) as [S1 S2].
    + lia.
    + rewrite P. split; [apply Rabs_pos|exact T0].
    + intros i Hi. rewrite P. split; [apply Rabs_pos|now apply TS].
    + intros i Hi. rewrite P, TH by assumption. apply Rabs_R0.
    + cbv beta in S2. rewrite Sum_const in S2. assert (0 <= (IZR W + IZR e) * IZR V) by nra. assert (INR t * ((IZR W + IZR e) * IZR V) <= INR T * ((IZR W + IZR e) * IZR V)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

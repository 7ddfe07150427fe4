(* Softmax where position 0 has the largest score and the letters that are picked have nearly the
   same one: then each of them has nearly the same share, which is bounded from the scores, and a
   weighted sum of values that are nearly multiples of a unit is a count of steps, give or take. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax.
Import ListNotations.
Open Scope R_scope.

(* ---------- sums over positions ---------- *)
Fixpoint Sum (f : nat -> R) (n : nat) : R := match n with O => 0 | S k => Sum f k + f k end.
Lemma tot_positions f g n : at80 (tot (map (fun i => (f i, g i)) (seq 0 n))) = Sum (fun i =>
  at80 (B2R (f i) * B2R (g i))) n.
Proof.
  induction n as [|n IH]; [unfold at80; cbn; ring|]. rewrite seq_S, map_app, tot_app.
  cbn [Sum Nat.add]. rewrite <- IH.
  unfold at80. cbn [map tot fold_right fst snd]. ring.
Qed.
Lemma size_positions f g n : at80 (Bounds.size (map (fun i => (f i, g i)) (seq 0 n))) = Sum (fun i
  => Rabs (at80 (B2R (f i) * B2R (g i)))) n.
Proof.
  induction n as [|n IH]; [unfold at80; cbn; ring|]. rewrite seq_S, map_app, size_app.
  cbn [Sum Nat.add]. rewrite <- IH.
  unfold at80 at 3. pose proof grid_pos. rewrite (Rabs_mult _ (IZR grid)), (Rabs_mult _ (IZR
    grid)), (Rabs_pos_eq (IZR grid)) by lra.
  unfold at80. cbn [map Bounds.size fold_right fst snd]. ring.
Qed.
Lemma Sum_le f g n : (forall i, (i < n)%nat -> f i <= g i) -> Sum f n <= Sum g n.
Proof. induction n; intros H; cbn; [lra|]. apply Rplus_le_compat; [apply IHn;
  auto with arith|apply H; lia]. Qed.
Lemma Sum_shift f n : Sum f (S n) = f O + Sum (fun i => f (S i)) n.
Proof. induction n; cbn in *; [ring|]. rewrite IHn. ring. Qed.
Lemma Sum_cut f n t : (t < n)%nat -> (forall i, (t < i < n)%nat -> f i = 0) ->
  Sum f n = Sum f (S t).
Proof.
  induction n as [|n IH]; intros H Z0; [lia|]. destruct (Nat.eq_dec t n) as [->|]; [reflexivity|].
  cbn [Sum]. rewrite (Z0 n) by lia. rewrite IH; [cbn [Sum]; ring|lia|intros; apply Z0; lia].
Qed.
Lemma Sum_const c n : Sum (fun _ => c) n = INR n * c.
Proof. induction n; cbn [Sum]; [cbn; ring|]. rewrite IHn, S_INR. ring. Qed.
Lemma Sum_around c r n : Sum (fun i => c i + r) n = Sum c n + INR n * r.
Proof. induction n; cbn [Sum]; [cbn; ring|]. rewrite IHn, S_INR. ring. Qed.
Lemma Sum_between f n t lo0 hi0 lo hi : (t < n)%nat -> lo0 <= f O <= hi0 ->
  (forall i, (1 <= i <= t)%nat -> lo i <= f i <= hi i) ->
  (forall i, (t < i < n)%nat -> f i = 0) -> lo0 + Sum (fun i => lo (S i)) t <= Sum f n <= hi0 +
    Sum (fun i => hi (S i)) t.
Proof.
  intros H H0 H1 H2. rewrite (Sum_cut f n t H H2), Sum_shift.
  assert (Sum (fun i => lo (S i)) t <= Sum (fun i => f (S i)) t) by (apply Sum_le; intros;
    apply H1; lia).
  assert (Sum (fun i => f (S i)) t <= Sum (fun i => hi (S i)) t) by (apply Sum_le; intros;
    apply H1; lia). lra.
Qed.

(* ---------- the shares of a row of softmax: that of position 0, that of a letter ---------- *)
Lemma one_is : is_finite one = true /\ B2R one = 1.
Proof.
  split; [reflexivity|]. assert (E : B2R one = F2R (Float radix2 8388608 (-23))) by reflexivity.
  rewrite E. unfold F2R. cbn. lra.
Qed.
Lemma inb_one : inb one_box one.
Proof. destruct one_is as [F E]. split; [exact F|]. rewrite E. unfold at40. cbn [fst snd one_box].
lra. Qed.
Lemma inb_zero : inb zero_box zero.
Proof. split; [reflexivity|]. unfold at40. cbn. lra. Qed.
Lemma smaller_if x y : is_finite x = true -> is_finite y = true -> B2R x < B2R y ->
  smaller x y = true.
Proof. intros Fx Fy H. unfold smaller. rewrite Bltb_correct by assumption.
now apply Rlt_bool_true. Qed.
Lemma minus_self x : is_finite x = true -> is_finite (Bminus mode_NE x x) = true /\
  B2R (Bminus mode_NE x x) = 0.
Proof.
  intros F. pose proof (Bminus_correct 24 128 _ _ mode_NE x x F F) as C.
  rewrite Rminus_eq_0, round_0 in C by apply valid_rnd_N.
  rewrite Rabs_R0, Rlt_bool_true in C by apply bpow_gt_0. tauto.
Qed.

(* how many of positions 1 to t a head picks *)
Fixpoint picks_to (pk : nat -> bool) (t : nat) : nat := match t with O => O | S k =>
  (picks_to pk k + (if pk (S k) then 1 else 0))%nat end.
Lemma picks_le pk t : (picks_to pk t <= t)%nat.
Proof. induction t; cbn; [lia|]. destruct (pk (S t)); lia. Qed.
Lemma picks_lt pk t i : (1 <= i <= t)%nat -> pk i = false -> (picks_to pk t < t)%nat.
Proof.
  induction t as [|t IH]; intros Hi H; [lia|]. cbn [picks_to]. pose proof (picks_le pk t).
  destruct (Nat.eq_dec i (S t)) as [->|]; [rewrite H; lia|].
  specialize (IH ltac:(lia) H). destruct (pk (S t)); lia.
Qed.
Lemma Sum_picked (pk : nat -> bool) a b t : Sum (fun i => if pk (S i) then
  a else b) t = INR (picks_to pk t) * a + INR (t - picks_to pk t) * b.
Proof.
  induction t as [|t IH]; [cbn; ring|]. pose proof (picks_le pk t). cbn [Sum picks_to].
  rewrite IH. destruct (pk (S t)).
  - replace (S t - (picks_to pk t + 1))%nat with (t - picks_to pk t)%nat by lia. rewrite plus_INR.
    cbn [INR]. ring.
  - rewrite Nat.add_0_r. replace (S t - picks_to pk t)%nat with (S (t - picks_to pk t)) by lia.
    rewrite S_INR. ring.
Qed.
Definition size_of_box (b : box) : Z := Z.max (Z.abs (fst b)) (Z.abs (snd b)).
Lemma size_of_box_sound b x : inb b x -> Rabs (at40 (B2R x)) <= IZR (size_of_box b).
Proof. intros [_ [A B]]. unfold size_of_box. rewrite IZR_max, !abs_IZR.
unfold Rmax, Rabs; repeat destruct Rle_dec; repeat destruct Rcase_abs; lra. Qed.
Definition divided_box (a b : box) : option box :=
  match div_box a b, div_box one_box b with
  | Some d, Some r => match sum_box [(a, r)] with Some p => Some (Z.min (fst d) (fst p),
    Z.max (snd d) (snd p)) | None => None end
  | _, _ => None end.
Lemma hull_in a b x : inb a x \/ inb b x -> inb (Z.min (fst a) (fst b), Z.max (snd a) (snd b)) x.
Proof.
  intros H. assert (F : is_finite x = true) by (destruct H as [[F _]|[F _]]; exact F).
  split; [exact F|]. cbn [fst snd]. rewrite IZR_min, IZR_max.
  destruct H as [[_ [A B]]|[_ [A B]]]; split; unfold Rmin, Rmax; repeat destruct Rle_dec; lra.
Qed.
Lemma divided_sound a b c x y r : divided_box a b = Some c -> inb a x -> inb b y ->
  divided x y r -> inb c r.
Proof.
  unfold divided_box. destruct (div_box a b) as [d|] eqn:E1; [|discriminate].
  destruct (div_box one_box b) as [q|] eqn:E2; [|discriminate].
  destruct (sum_box [(a, q)]) as [p|] eqn:E3; [|discriminate]. intros E Hx Hy H.
  apply some_inj in E. subst c. apply hull_in. destruct H as [->| ->].
  - left. eapply div_box_sound; eauto.
  - right. eapply sum_box_sound; [|exact E3|apply product]. constructor; [|constructor].
    split; [exact Hx|]. eapply div_box_sound; [exact E2|apply inb_one|exact Hy].
Qed.
Definition abs_divided (a : Z) (b : box) : option Z :=
  match abs_div a b, div_box one_box b with
  | Some h, Some r => match sum_box [((- a, a)%Z, r)] with Some p => Some (Z.max h (size_of_box
    p)) | None => None end
  | _, _ => None end.
Lemma abs_divided_sound a b c x y r : abs_divided a b = Some c -> is_finite x = true ->
  Rabs (at40 (B2R x)) <= IZR a -> inb b y -> divided x y r ->
  is_finite r = true /\ Rabs (at40 (B2R r)) <= IZR c.
Proof.
  unfold abs_divided. destruct (abs_div a b) as [h|] eqn:E1; [|discriminate].
  destruct (div_box one_box b) as [q|] eqn:E2; [|discriminate].
  destruct (sum_box _) as [p|] eqn:E3; [|discriminate]. intros E Fx Bx Hy H. apply some_inj in E.
  subst c. rewrite IZR_max. destruct H as [->| ->].
  - destruct (abs_div_sound _ _ _ _ _ E1 Fx Bx Hy) as [F B]. split; [exact F|].
    eapply Rle_trans; [exact B|apply Rmax_l].
  - assert (I : inb p (Bmult mode_NE x (Bdiv mode_NE one y))).
    { eapply sum_box_sound; [|exact E3|apply product]. constructor; [|constructor].
      split; [|eapply div_box_sound; [exact E2|apply inb_one|exact Hy]].
      split; [exact Fx|]. cbn [fst snd]. rewrite opp_IZR. apply Rabs_le_inv in Bx. exact Bx. }
    split; [apply I|]. eapply Rle_trans; [apply (size_of_box_sound p); exact I|apply Rmax_r].
Qed.
Lemma divided_zero b q y r : div_box one_box b = Some q -> inb b y -> divided zero y r ->
  is_finite r = true /\ B2R r = 0.
Proof.
  intros E Hy H. assert (P : B2R y <> 0).
  { unfold div_box in E. destruct andb eqn:A in E; [|discriminate].
    repeat (apply andb_prop in A as [A ?]).
    repeat match goal with H : (_ <=? _)%Z = true |- _ => apply Z.leb_le in H end.
    destruct Hy as [_ [B _]].
    assert (0 < IZR (fst b)) by (apply IZR_lt; lia). pose proof grid_pos. unfold at40 in B. nra. }
  destruct H as [->| ->].
  - pose proof (Bdiv_correct 24 128 _ _ mode_NE zero y P) as BC. cbn [B2R zero] in BC.
    unfold Rdiv in BC.
    rewrite Rmult_0_l, round_0, Rabs_R0, Rlt_bool_true in BC by (try apply valid_rnd_N;
      apply bpow_gt_0). destruct BC as [B1 [B2 _]]. split; [rewrite B2; reflexivity|exact B1].
  - destruct (div_box_sound _ _ _ _ _ E inb_one Hy) as [F _].
    pose proof (Bmult_correct 24 128 _ _ mode_NE zero (Bdiv mode_NE one y)) as BC.
    cbn [B2R zero] in BC.
    rewrite Rmult_0_l, round_0, Rabs_R0, Rlt_bool_true in BC by (try apply valid_rnd_N;
      apply bpow_gt_0). destruct BC as [B1 [B2 _]]. rewrite F in B2.
    split; [rewrite B2; reflexivity|exact B1].
Qed.
Definition exp_of (s s0 : box) : option box :=
  if (snd s <? fst s0)%Z then match minus_box s s0 with Some d => device_exp_box d | None =>
    None end else None.
(* the shares of position 0 and of a position that is picked, and the most that of another may be
   *)
Definition shares (T m t : nat) (s0 sl su : box) : option (box * box * Z) :=
  match exp_of sl s0, (if (m =? t)%nat then Some zero_box else exp_of su s0) with
  | Some e, Some f =>
      if (0 <=? fst e)%Z then
        let a := (Z.of_nat m * grid)%Z in let b := (Z.of_nat (t - m) * grid)%Z in
        match widened (Z.of_nat (S T)) (grid2 + a * fst e + b * fst f) (grid2 + a * snd e + b *
          snd f) (grid2 + a * snd e + b * size_of_box f) with None => None | Some total =>
        match divided_box one_box total, divided_box e total, abs_divided (size_of_box f) total
          with Some w0, Some w, Some v => Some (w0, w, v) | _, _, _ => None end end
      else None
  | _, _ => None end.
Definition is_null (x : f32) : Prop := is_finite x = true /\ B2R x = 0.
Lemma grid2_is : IZR grid2 = IZR grid * IZR grid. Proof. rewrite <- mult_IZR. reflexivity. Qed.
Lemma below_first s s0 x y e : exp_of s s0 = Some e -> inb s x -> inb s0 y -> smaller x y = true.
Proof.
  unfold exp_of. destruct (Z.ltb_spec (snd s) (fst s0)) as [C|]; [|discriminate].
  intros _ [Fx [_ A]] [Fy [B _]]. apply smaller_if; auto.
  apply IZR_lt in C. unfold at40 in *. pose proof grid_pos. nra.
Qed.
Lemma exp_of_sound ex s s0 x y e r : is_exp ex -> exp_of s s0 = Some e -> inb s x -> inb s0 y ->
  ex (Bminus mode_NE x y) r -> inb e r.
Proof.
  unfold exp_of. destruct (Z.ltb _ _); [|discriminate]. destruct (minus_box s s0) as [d|] eqn:E;
    [|discriminate]. intros.
  eapply device_exp_sound; eauto. eapply minus_box_sound; eauto.
Qed.
Lemma shares_sound ex (pk : nat -> bool) T n t s w s0 sl su w0 wl wu : is_exp ex ->
  (t < n <= S T)%nat -> shares T (picks_to pk t) t s0 sl su = Some (w0, wl, wu) ->
  inb s0 (s O) -> (forall i, (1 <= i <= t)%nat -> inb (if pk i then sl else su) (s i)) ->
    softmax ex n t s w ->
  inb w0 (w O) /\ (forall i, (1 <= i <= t)%nat -> is_finite (w i) = true /\ if pk i then
    inb wl (w i) else Rabs (at40 (B2R (w i))) <= IZR wu) /\
  (forall i, (t < i)%nat -> is_null (w i)).
Proof.
  intros HX Hn E H0 HL [m [total [x [[j [Hj Hm]] [Hmax [HE [HS HW]]]]]]]. unfold shares in E.
  set (mm := picks_to pk t) in *.
  destruct (exp_of sl s0) as [e|] eqn:EE; [|discriminate]. destruct (if (mm =? t)%nat then
    Some zero_box else exp_of su s0) as [f|] eqn:EF; [|discriminate].
  destruct (Z.leb_spec 0 (fst e)) as [Ce|]; [|discriminate]. cbv zeta in E.
  destruct (widened _ _ _ _) as [tb|] eqn:ET; [|discriminate].
  destruct (divided_box one_box tb) as [q0|] eqn:E0; [|discriminate].
  destruct (divided_box e tb) as [ql|] eqn:EL; [|discriminate].
  destruct (abs_divided (size_of_box f) tb) as [qu|] eqn:EU; [|discriminate]. injection E as -> ->
    ->.
  assert (UF : forall i, (1 <= i <= t)%nat -> pk i = false -> exp_of su s0 = Some f).
  { intros i Hi Hp. pose proof (picks_lt pk t i Hi Hp). fold mm in H.
    destruct (Nat.eqb_spec mm t); [lia|exact EF]. }
  assert (M : m = s O).
  { destruct j as [|j]; [congruence|]. exfalso. pose proof (Hmax O ltac:(lia)) as K.
    pose proof (HL (S j) ltac:(lia)) as I. rewrite Hm in I.
    destruct (pk (S j)) eqn:Ep; [rewrite (below_first _ _ _ _ _ EE I H0) in K; discriminate|].
    rewrite (below_first _ _ _ _ _ (UF (S j) ltac:(lia) Ep) I H0) in K; discriminate. }
  subst m. rewrite M in *. clear M.
  assert (X0 : x O = one).
  { destruct (minus_self (s O) (proj1 H0)) as [F R]. pose proof (HE O) as H0'. cbn in H0'.
    apply (proj2 HX _ _ H0'); auto. lra. }
  assert (XL : forall i, (1 <= i <= t)%nat -> inb (if pk i then e else f) (x i)).
  { intros i Hi. pose proof (HE i) as Hx. unfold exponential in Hx.
    rewrite (proj2 (Nat.leb_le i t)) in Hx by lia.
    pose proof (HL i Hi) as I. destruct (pk i) eqn:Ep; eapply exp_of_sound; eauto. }
  assert (XH : forall i, (t < i)%nat -> x i = zero).
  { intros i Hi. pose proof (HE i) as Hx. unfold exponential in Hx.
    now rewrite (proj2 (Nat.leb_gt i t)) in Hx by lia. }
  destruct one_is as [F1 R1]. pose proof grid_pos. pose proof grid2_is as G2.
  assert (TB : inb tb total).
  { eapply widened_sound with (m := S T); [exact HS| | | | |exact ET].
    - unfold all_finite. apply Forall_forall. intros p Hp. apply in_map_iff in Hp as [i [<- Hi]].
      cbn [fst snd]. split; [|exact F1].
      destruct i as [|i]; [rewrite X0; exact F1|]. destruct (le_lt_dec (S i) t);
        [apply (XL (S i)); lia|rewrite XH by lia; reflexivity].
    - eapply Nat.le_trans; [apply nz_le|]. rewrite map_length, seq_length. lia.
    - rewrite tot_positions. rewrite !plus_IZR, !mult_IZR, <- !INR_IZR_INZ. rewrite R1.
      pose proof (Sum_between (fun i => at80 (B2R (x i) * 1)) n t (IZR grid2) (IZR grid2)
        (fun i => if pk i then IZR grid * IZR (fst e) else IZR grid * IZR (fst f)) (fun i =>
          if pk i then IZR grid * IZR (snd e) else IZR grid * IZR (snd f))) as SB.
      cbv beta in SB. rewrite !Sum_picked in SB. fold mm in SB.
      match goal with |- ?A <= _ <= ?B => match type of SB with _ -> _ -> _ -> _ ->
        ?A' <= _ <= ?B' => replace A with A' by ring; replace B with B' by ring end end.
      apply SB; clear SB.
      + lia.
      + rewrite X0, R1, G2. unfold at80. lra.
      + intros i Hi. destruct (XL i Hi) as [_ A]. unfold at80, at40 in *. rewrite Rmult_1_r.
        destruct (pk i); split; rewrite (Rmult_comm (IZR grid)); apply Rmult_le_compat_r; lra.
      + intros i Hi. rewrite XH by lia. unfold at80. cbn [B2R zero]. ring.
    - rewrite size_positions. rewrite !plus_IZR, !mult_IZR, <- !INR_IZR_INZ. rewrite R1.
      pose proof (Sum_between (fun i => Rabs (at80 (B2R (x i) * 1))) n t (IZR grid2) (IZR grid2)
        (fun _ => 0)
        (fun i => if pk i then IZR grid * IZR (snd e) else IZR grid * IZR (size_of_box f))) as SB.
      cbv beta in SB. rewrite !Sum_picked in SB. fold mm in SB.
      match goal with |- _ <= ?B => match type of SB with _ -> _ -> _ -> _ -> _ <= _ <= ?B' =>
        replace B with B' by ring end end. apply SB; clear SB.
      + lia.
      + rewrite X0, R1, G2. unfold at80. rewrite Rabs_pos_eq by nra. lra.
      + intros i Hi. split; [apply Rabs_pos|]. pose proof (XL i Hi) as I.
        replace (at80 (B2R (x i) * 1)) with (at40 (B2R (x i)) * IZR grid) by (unfold at80, at40;
          ring).
        rewrite Rabs_mult, (Rabs_pos_eq (IZR grid)) by lra. rewrite Rmult_comm. destruct (pk i).
        * apply Rmult_le_compat_l; [lra|]. apply IZR_le in Ce. destruct I as [_ I].
          rewrite Rabs_pos_eq; lra.
        * apply Rmult_le_compat_l; [lra|]. now apply size_of_box_sound.
      + intros i Hi. rewrite XH by lia. unfold at80. cbn [B2R zero]. rewrite !Rmult_0_l.
        apply Rabs_R0. }
  split; [|split].
  - eapply divided_sound; [exact E0|apply inb_one|exact TB|]. rewrite <- X0. apply HW.
  - intros i Hi. pose proof (HW i) as D. pose proof (XL i Hi) as I. destruct (pk i).
    + pose proof (divided_sound _ _ _ _ _ _ EL I TB D) as J. split; [apply J|exact J].
    + eapply abs_divided_sound; [exact EU|apply I|now apply size_of_box_sound|exact TB|exact D].
  - intros i Hi. pose proof (HW i) as D. rewrite XH in D by lia. unfold divided_box in E0.
    destruct (div_box one_box tb) as [q|] eqn:EQ; [|discriminate].
    exact (divided_zero _ _ _ _ EQ TB D).
Qed.

(* ---------- a weighted sum of values that are nearly multiples of a unit ---------- *)
Fixpoint count (steps : nat -> Z) (t : nat) : Z := match t with O => 0%Z | S k =>
  (count steps k + steps (S k))%Z end.   (* positions 1 to t *)
Lemma count_is c steps t : Sum (fun i => c * IZR (steps (S i))) t = c * IZR (count steps t).
Proof. induction t; cbn [Sum count]; [ring|]. rewrite IHt, plus_IZR. ring. Qed.
(* share W give or take e, at most f where nothing is picked; unit G give or take dl; values of
   size at most V; first weight w0 and value v0 *)
Definition counter_off (T : nat) (W e f G dl V w0 v0 : Z) : Z := (w0 * v0 + Z.of_nat T * (e * V +
  W * dl + f * V))%Z.
Definition counter_size (T : nat) (W e f V w0 v0 : Z) : Z := (w0 * v0 + Z.of_nat T * ((W + e + f)
  * V))%Z.
Lemma counter_sound (pk : nat -> bool) T n t W e f G dl V w0 v0 (w v : nat -> f32) (steps : nat ->
  Z) y : (t < n <= S T)%nat ->
  (0 <= W)%Z -> (0 <= e)%Z -> (0 <= f)%Z -> (0 <= dl)%Z -> (0 <= V)%Z -> (0 <= w0)%Z ->
    (0 <= v0)%Z ->
  has_bound (Z.of_nat (S T)) (counter_size T W e f V w0 v0) = true ->
  is_finite (w O) = true -> Rabs (at40 (B2R (w O))) <= IZR w0 -> Rabs (at40 (B2R (v O))) <= IZR v0
    ->
  (forall i, (1 <= i <= t)%nat -> is_finite (w i) = true /\ if pk i then Rabs (at40 (B2R (w i)) -
    IZR W) <= IZR e else Rabs (at40 (B2R (w i))) <= IZR f) ->
  (forall i, (t < i)%nat -> is_null (w i)) ->
  (forall i, (i < n)%nat -> is_finite (v i) = true) ->
  (forall i, (1 <= i <= t)%nat -> Rabs (at40 (B2R (v i))) <= IZR V /\ if pk i then
    Rabs (at40 (B2R (v i)) - IZR (G * steps i)) <= IZR dl else steps i = 0%Z) ->
  sums (map (fun i => (w i, v i)) (seq 0 n)) y ->
  is_finite y = true /\ Rabs (at80 (B2R y) - IZR (W * G * count steps t)) <= IZR (counter_off T W
    e f G dl V w0 v0 + rounding (Z.of_nat (S T)) (counter_size T W e f V w0 v0)).
Proof.
  intros Hn W_ e_ f_ d_ V_ w_ v_ HB F0 W0 V0 HW HN FV HV HS. apply IZR_le in W_, e_, f_, d_, V_,
    w_, v_.
  assert (Ht : INR t <= INR T) by (apply le_INR; lia). pose proof (pos_INR t) as Ht0.
  assert (P : forall i, at80 (B2R (w i) * B2R (v i)) = at40 (B2R (w i)) * at40 (B2R (v i))) by
    (intros; unfold at80, at40; ring).
  assert (T0 : Rabs (at40 (B2R (w O)) * at40 (B2R (v O))) <= IZR w0 * IZR v0) by (rewrite
    Rabs_mult; apply Rmult_le_compat; auto using Rabs_pos).
  assert (TH : forall i, (t < i < n)%nat -> at40 (B2R (w i)) * at40 (B2R (v i)) = 0).
  { intros i Hi. destruct (HN i ltac:(lia)) as [_ Z0]. rewrite Z0. unfold at40. ring. }
  assert (eV : 0 <= IZR e * IZR V) by nra. assert (fV : 0 <= IZR f * IZR V) by nra.
  assert (Wd : 0 <= IZR W * IZR dl) by nra. assert (WV : 0 <= IZR W * IZR V) by nra.
  set (r := IZR e * IZR V + IZR W * IZR dl + IZR f * IZR V).
  assert (TL : forall i, (1 <= i <= t)%nat -> Rabs (at40 (B2R (w i)) * at40 (B2R (v i)) - IZR W *
    IZR G * IZR (steps i)) <= r).
  { intros i Hi. destruct (HW i Hi) as [_ A1]. destruct (HV i Hi) as [A3 A2]. destruct (pk i).
    - rewrite mult_IZR in A2.
      replace (at40 (B2R (w i)) * at40 (B2R (v i)) - IZR W * IZR G * IZR (steps i))
        with ((at40 (B2R (w i)) - IZR W) * at40 (B2R (v i)) + IZR W * (at40 (B2R (v i)) - IZR G *
          IZR (steps i))) by ring.
      eapply Rle_trans; [apply Rabs_triang|].
      rewrite !Rabs_mult, (Rabs_pos_eq (IZR W)) by assumption. unfold r.
      assert (Rabs (at40 (B2R (w i)) - IZR W) * Rabs (at40 (B2R (v i))) <= IZR e * IZR V) by
        (apply Rmult_le_compat; auto using Rabs_pos).
      assert (IZR W * Rabs (at40 (B2R (v i)) - IZR G * IZR (steps i)) <= IZR W * IZR dl) by (apply
        Rmult_le_compat_l; assumption). lra.
    - rewrite A2, Rmult_0_r, Rminus_0_r, Rabs_mult.
      assert (Rabs (at40 (B2R (w i))) * Rabs (at40 (B2R (v i))) <= IZR f * IZR V) by (apply
        Rmult_le_compat; auto using Rabs_pos). unfold r. lra. }
  assert (TS : forall i, (1 <= i <= t)%nat -> Rabs (at40 (B2R (w i)) * at40 (B2R (v i))) <= (IZR W
    + IZR e + IZR f) * IZR V).
  { intros i Hi. destruct (HW i Hi) as [_ A1]. destruct (HV i Hi) as [A3 _]. rewrite Rabs_mult.
    apply Rmult_le_compat; auto using Rabs_pos.
    destruct (pk i); [apply Rabs_le_inv in A1; apply Rabs_le; lra|lra]. }
  assert (r0 : 0 <= r) by (unfold r; lra).
  assert (TT : Rabs (at80 (tot (map (fun i => (w i, v i)) (seq 0 n))) - IZR (W * G * count steps
    t)) <= IZR (counter_off T W e f G dl V w0 v0)).
  { rewrite tot_positions. unfold counter_off. rewrite !plus_IZR, !mult_IZR, !plus_IZR, !mult_IZR,
      <- INR_IZR_INZ. fold r.
    destruct (Sum_between (fun i => at80 (B2R (w i) * B2R (v i))) n t (- (IZR w0 * IZR v0)) (IZR
      w0 * IZR v0)
      (fun i => IZR W * IZR G * IZR (steps i) + - r) (fun i => IZR W * IZR G * IZR (steps i) + r))
        as [S1 S2].
    + lia.
    + rewrite P. apply Rabs_le_inv in T0. lra.
    + intros i Hi. rewrite P. pose proof (TL i Hi) as Q. apply Rabs_le_inv in Q. lra.
    + intros i Hi. rewrite P. now apply TH.
    + cbv beta in S1, S2. rewrite !(Sum_around (fun i => IZR W * IZR G * IZR (steps (S i)))),
        count_is in S1, S2.
      assert (INR t * r <= INR T * r) by (apply Rmult_le_compat_r; lra). apply Rabs_le. lra. }
  destruct (sum_error (S T) _ y (counter_size T W e f V w0 v0) HS) as [Fy Ey].
  - unfold all_finite. apply Forall_forall. intros p Hp. apply in_map_iff in Hp as [i [<- Hi]].
    apply in_seq in Hi. cbn [fst snd]. split; [|apply FV; lia].
    destruct i as [|i]; [exact F0|]. destruct (le_lt_dec (S i) t); [apply HW; lia|apply HN; lia].
  - eapply Nat.le_trans; [apply nz_le|]. rewrite map_length, seq_length. lia.
  - rewrite size_positions. unfold counter_size. rewrite !plus_IZR, !mult_IZR, !plus_IZR,
      <- INR_IZR_INZ.
    destruct (Sum_between (fun i => Rabs (at80 (B2R (w i) * B2R (v i)))) n t 0 (IZR w0 * IZR v0)
      (fun i => 0) (fun i => (IZR W + IZR e + IZR f) * IZR V)) as [S1 S2].
    + lia.
    + rewrite P. split; [apply Rabs_pos|exact T0].
    + intros i Hi. rewrite P. split; [apply Rabs_pos|now apply TS].
    + intros i Hi. rewrite P, TH by assumption. apply Rabs_R0.
    + cbv beta in S2. rewrite Sum_const in S2. assert (0 <= (IZR W + IZR e + IZR f) * IZR V) by
        nra.
      assert (INR t * ((IZR W + IZR e + IZR f) * IZR V) <= INR T * ((IZR W + IZR e + IZR f) * IZR
        V)) by (apply Rmult_le_compat_r; lra). lra.
  - exact HB.
  - split; [exact Fy|]. rewrite plus_IZR. apply Rabs_le_inv in Ey, TT. apply Rabs_le. lra.
Qed.

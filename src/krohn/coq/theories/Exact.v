(* Every order of adding, where nothing is rounded: the checker computes with integers (multiples
   of 2^-8) and requires that no sum of absolute terms needs more than 24 bits.  Each partial sum
   in each order is then a float, so that every order gives the same one. *)
From Coq Require Import ZArith List Bool Lia Permutation Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Closed Exists.
Import ListNotations.
Open Scope Z_scope.

Definition most := 16777216.  (* 2^24 *)
Definition fits (z : Z) : option Z := if Z.abs z <=? most then Some z else None.
Definition scaled (p : Z) : option Z := let q := Z.shiftr p 8 in if Z.shiftl q 8 =? p then
  Some q else None.
(* m 2^e as a multiple of 2^-8 *)
Definition exact_scale (m e : Z) : option Z :=
  if m =? 0 then Some 0 else if 0 <=? e + 8 then fits (Z.shiftl m (e + 8))
  else if m mod 2 ^ (- (e + 8)) =? 0 then fits (m / 2 ^ (- (e + 8))) else None.
Definition exact_word (w : word) : option Z :=
  if w =? 0 then Some 0 else
  let e := w / 2 ^ 23 mod 256 in let m := w mod 2 ^ 23 in
  if e =? 255 then None
  else let '(m, e) := if e =? 0 then (m, -149) else (m + 2 ^ 23, e - 150) in
       exact_scale (if Z.testbit w 31 then - m else m) e.
Definition exact_column (c : list word) : option (list Z) := mapM exact_word c.
Definition total (l : list Z) : Z := fold_right Z.add 0 l.
(* the sum of the products, and the sum of their sizes; nothing is done where a factor is 0 *)
Fixpoint sum_and_size (x y : list Z) (sum size : Z) : option (Z * Z) :=
  match x, y with
  | a :: x, b :: y =>
      match a, b with
      | Z0, _ | _, Z0 => sum_and_size x y sum size
      | _, _ => match scaled (a * b) with Some p => sum_and_size x y (sum + p) (size + Z.abs p) |
        None => None end
      end
  | _, _ => Some (sum, size)
  end.
Definition exact_dot (x y : list Z) : option Z :=
  match sum_and_size x y 0 0 with Some (sum, size) => if size <=? most then Some sum else None |
    None => None end.
(* the same with a column that is stored as its weights other than 0, each after the number of
   zeros before it *)
Fixpoint sparse (zeros : nat) (c : list Z) : list (nat * Z) :=
  match c with [] => [] | Z0 :: c => sparse (S zeros) c | w :: c => (zeros, w) :: sparse 0 c end.
Fixpoint sparse_sum (x : list Z) (c : list (nat * Z)) (sum size : Z) : option (Z * Z) :=
  match c with
  | [] => Some (sum, size)
  | (zeros, w) :: c =>
      match skipn zeros x with
      | [] => Some (sum, size)
      | Z0 :: x => sparse_sum x c sum size
      | a :: x => match scaled (a * w) with Some p => sparse_sum x c (sum + p) (size + Z.abs p) |
        None => None end
      end
  end.
Definition column_dot (x : list Z) (c : option (list Z * list (nat * Z))) : option Z :=
  match c with
  | Some (_, c) => match sparse_sum x c 0 0 with Some (sum, size) => if size <=? most then
    Some sum else None | None => None end
  | None => None
  end.
Definition stored_column (c : list word) : option (list Z * list (nat * Z)) :=
  match exact_column c with Some c => Some (c, sparse 0 c) | None => None end.
Definition exact_mul (a b : Z) : option Z := match scaled (a * b) with Some p => fits p | None =>
  None end.
Definition saturated (low : Z) (mid : option Z) (high z : Z) : option Z :=
  if z <? -28160 then Some low else if 28160 <? z then Some high else if z =? 0 then mid else None.
Definition exact_root (z : Z) : option Z := if z =? 0 then Some 0 else if z =? 256 then
  Some 256 else None.
Definition exact_quotient (x n : Z) : option Z := if n =? 256 then fits x else None.
Definition exact_over (x n : Z) : option Z := if n =? 256 then fits x else if (n =? 0) &&
  (x =? 0) then Some 0 else None.
Definition integers : Arith Z (option (list Z * list (nat * Z))) option := @Build_Arith Z _ option
  (fun z => exact_scale z 0) (fun z => Some (- z)) column_dot
  exact_dot (fun a b => fits (a - b)) exact_mul (fun a b => fits (a + b)) exact_quotient
  exact_root (fun z => Some (if z <? 0 then 0 else z)) (saturated 0 (Some 128) 256) (saturated
    (-256) (Some 0) 256)
  (saturated 0 None 256) exact_over (fun z => Some (if z <? 256 then 256 else z)).

Definition grain := bpow radix2 (-8).
Definition is (x : f32) (z : Z) : Prop := is_finite x = true /\ B2R x = (IZR z * grain)%R.

Lemma grain_pos : (0 < grain)%R. Proof. apply bpow_gt_0. Qed.
Lemma grain_256 : (IZR 256 * grain = 1)%R.
Proof. unfold grain. change (IZR 256) with (bpow radix2 8). rewrite <- bpow_plus. reflexivity. Qed.

Lemma in_format z : Z.abs z <= most -> generic_format radix2 (SpecFloat.fexp 24 128) (IZR z *
  grain).
Proof.
  intros H. change (SpecFloat.fexp 24 128) with (FLT_exp (-149) 24). apply generic_format_FLT.
  destruct (Z_lt_le_dec (Z.abs z) most) as [L|L].
  - apply (FLT_spec _ _ _ _ (Float radix2 z (-8))); cbn; [reflexivity|exact L|lia].
  - assert (E : z = 2 * (2 ^ 23) \/ z = 2 * (- 2 ^ 23)) by (unfold most in *; lia).
    assert (E2 : exists m, z = 2 * m /\ Z.abs m < 2 ^ 24) by (destruct E;
      [exists (2^23)|exists (-2^23)]; split; auto; reflexivity).
    destruct E2 as [m [-> Hm]].
    apply (FLT_spec _ _ _ _ (Float radix2 m (-7))); [|exact Hm|cbn; lia].
    unfold F2R, grain; cbn [Fnum Fexp]. rewrite mult_IZR. change (-7) with (1 + -8).
    rewrite bpow_plus.
    change (bpow radix2 1) with 2%R. ring.
Qed.
Lemma kept z : Z.abs z <= most -> round radix2 (SpecFloat.fexp 24 128) (round_mode mode_NE) (IZR z
  * grain) = (IZR z * grain)%R.
Proof. intros H. apply round_generic; [apply valid_rnd_N|now apply in_format]. Qed.
Lemma no_overflow z : Z.abs z <= most -> Rlt_bool (Rabs (IZR z * grain)) (bpow radix2 128) = true.
Proof.
  intros H. apply Rlt_bool_true. rewrite Rabs_mult, (Rabs_pos_eq grain) by (left; apply grain_pos).
  rewrite <- abs_IZR. apply Rle_lt_trans with (bpow radix2 24 * grain)%R.
  - apply Rmult_le_compat_r; [left; apply grain_pos|]. change (bpow radix2 24) with (IZR most).
    now apply IZR_le.
  - unfold grain. rewrite <- bpow_plus. now apply bpow_lt.
Qed.

Lemma is_plus x y a b : is x a -> is y b -> Z.abs (a + b) <= most -> is (Bplus mode_NE x y) (a +
  b).
Proof.
  intros [Fx Vx] [Fy Vy] H. pose proof (Bplus_correct 24 128 _ _ mode_NE x y Fx Fy) as C.
  rewrite Vx, Vy in C. replace (IZR a * grain + IZR b * grain)%R with (IZR (a + b) * grain)%R in
    C by (rewrite plus_IZR; ring).
  rewrite kept, no_overflow in C by exact H. split; tauto.
Qed.
Lemma is_minus x y a b : is x a -> is y b -> Z.abs (a - b) <= most -> is (Bminus mode_NE x y) (a -
  b).
Proof.
  intros [Fx Vx] [Fy Vy] H. pose proof (Bminus_correct 24 128 _ _ mode_NE x y Fx Fy) as C.
  rewrite Vx, Vy in C. replace (IZR a * grain - IZR b * grain)%R with (IZR (a - b) * grain)%R in
    C by (rewrite minus_IZR; ring).
  rewrite kept, no_overflow in C by exact H. split; tauto.
Qed.
Lemma product_scaled a b p : a * b = p * 256 -> (IZR a * grain * (IZR b * grain) = IZR p *
  grain)%R.
Proof.
  intros E. replace (IZR a * grain * (IZR b * grain))%R with (IZR (a * b) * grain * grain)%R by
    (rewrite mult_IZR; ring).
  rewrite E, mult_IZR. replace (IZR p * IZR 256 * grain * grain)%R with (IZR p * grain * (IZR 256
    * grain))%R by ring.
  rewrite grain_256. ring.
Qed.
Lemma is_mult x y a b p : is x a -> is y b -> a * b = p * 256 -> Z.abs p <= most ->
  is (Bmult mode_NE x y) p.
Proof.
  intros [Fx Vx] [Fy Vy] E H. pose proof (Bmult_correct 24 128 _ _ mode_NE x y) as C.
  rewrite Vx, Vy, (product_scaled a b p E), kept, no_overflow, Fx, Fy in C by exact H.
  split; tauto.
Qed.
Lemma is_fma x y z a b c p : is x a -> is y b -> is z c -> a * b = p * 256 ->
  Z.abs (p + c) <= most -> is (Bfma mode_NE x y z) (p + c).
Proof.
  intros [Fx Vx] [Fy Vy] [Fz Vz] E H. pose proof (Bfma_correct 24 128 _ _ mode_NE x y z Fx Fy Fz)
    as C. cbv zeta in C.
  rewrite Vx, Vy, Vz, (product_scaled a b p E) in C.
  replace (IZR p * grain + IZR c * grain)%R with (IZR (p + c) * grain)%R in
    C by (rewrite plus_IZR; ring).
  rewrite kept, no_overflow in C by exact H. split; tauto.
Qed.
Lemma is_zero : is zero 0. Proof. split; cbn; [reflexivity|ring]. Qed.
Lemma is_less x y a b : is x a -> is y b -> smaller x y = (a <? b).
Proof.
  intros [Fx Vx] [Fy Vy]. unfold smaller. rewrite Bltb_correct by assumption. rewrite Vx, Vy.
  destruct (Z.ltb_spec a b) as [L|L].
  - apply Rlt_bool_true. apply Rmult_lt_compat_r; [apply grain_pos|now apply IZR_lt].
  - apply Rlt_bool_false. apply Rmult_le_compat_r; [left; apply grain_pos|now apply IZR_le].
Qed.
Lemma fits_ok z y : fits z = Some y -> y = z /\ Z.abs z <= most.
Proof. unfold fits. destruct (Z.leb_spec (Z.abs z) most); [|discriminate]. intros [= <-]. auto.
Qed.
Lemma scaled_ok p q : scaled p = Some q -> p = q * 256.
Proof. unfold scaled. destruct (Z.eqb_spec (Z.shiftl (Z.shiftr p 8) 8) p) as [E|];
  [|discriminate]. intros [= <-]. rewrite Z.shiftl_mul_pow2 in E by lia. lia. Qed.

Lemma is_literal m e minus z : exact_scale m e = Some z -> is (literal m e minus) z.
Proof.
  unfold exact_scale. intros E.
  destruct (Z.eqb_spec m 0) as [->|_]; [injection E as <-; split; [reflexivity|cbn; ring]|].
  assert (H : Z.abs z <= most /\ (F2R (Float radix2 m e) = IZR z * grain)%R).
  { unfold F2R, grain; cbn [Fnum Fexp]. destruct (Z.leb_spec 0 (e + 8)) as [L|L].
    - apply fits_ok in E as [-> B]. split; auto. rewrite Z.shiftl_mul_pow2 by exact L.
      rewrite mult_IZR, Rmult_assoc. f_equal.
      change (IZR (2 ^ (e + 8))) with (IZR (radix2 ^ (e + 8))). rewrite IZR_Zpower by exact L.
      rewrite <- bpow_plus. f_equal. lia.
    - destruct (Z.eqb_spec (m mod 2 ^ (- (e + 8))) 0) as [M|]; [|discriminate].
      apply fits_ok in E as [-> B]. split; auto. set (k := - (e + 8)) in *.
      assert (P : 0 < 2 ^ k) by (apply Z.pow_pos_nonneg; lia).
      replace (IZR m) with (IZR (2 ^ k * (m / 2 ^ k))) by (f_equal; pose proof (Z.div_mod m (2 ^
        k)); lia).
      rewrite mult_IZR. change (IZR (2 ^ k)) with (IZR (radix2 ^ k)). rewrite IZR_Zpower by lia.
      replace (-8) with (k + e) by lia. rewrite bpow_plus. ring. }
  destruct H as [B V]. pose proof (binary_normalize_correct 24 128 _ _ mode_NE m e minus) as C.
  cbv zeta in C.
  rewrite V, kept, no_overflow in C by exact B. unfold literal. split; tauto.
Qed.
Lemma float_is w : float w =
  if w / 2 ^ 23 mod 256 =? 255 then (if w mod 2 ^ 23 =? 0 then B754_infinity (Z.testbit w 31) else
    B754_nan)
  else let '(m, e) := if w / 2 ^ 23 mod 256 =? 0 then (w mod 2 ^ 23, -149) else (w mod 2 ^ 23 + 2
    ^ 23, w / 2 ^ 23 mod 256 - 150) in
       literal (if Z.testbit w 31 then - m else m) e (Z.testbit w 31).
Proof. reflexivity. Qed.
Lemma is_word w z : exact_word w = Some z -> is (float w) z.
Proof.
  rewrite float_is. unfold exact_word. cbv zeta. destruct (Z.eqb_spec w 0) as [->|_];
    [intros [= <-]; split; [reflexivity|cbn; ring]|].
  destruct (w / 2 ^ 23 mod 256 =? 255); [discriminate|].
  destruct (w / 2 ^ 23 mod 256 =? 0); apply is_literal.
Qed.
Lemma is_column c ps : exact_column c = Some ps -> Forall2 is (map float c) ps.
Proof.
  revert ps. induction c as [|w c IH]; intros ps E; cbn in E; [injection E as <-; constructor|].
  destruct (exact_word w) as [z|] eqn:Ez; [|discriminate]. fold exact_column in E.
  unfold exact_column in IH.
  destruct (mapM (M:=option) exact_word c) as [zs|]; [|discriminate]. injection E as <-.
  constructor; [now apply is_word|now apply IH].
Qed.

(* sums in any order *)
Definition term (xy : f32 * f32) (p : Z) : Prop := exists a b, is (fst xy) a /\ is (snd xy) b /\
  a * b = p * 256.
Lemma abs_total l : Z.abs (total l) <= total (map Z.abs l).
Proof. unfold total. induction l; cbn [fold_right map]; lia. Qed.
Lemma total_app k l : total (k ++ l) = total k + total l.
Proof. unfold total. induction k; cbn [fold_right app]; lia. Qed.
Lemma total_perm k l : Permutation k l -> total k = total l.
Proof. unfold total. intros H. induction H; cbn [fold_right]; lia. Qed.
Lemma permuted {A B} (P : A -> B -> Prop) k l ps : Permutation k l -> Forall2 P l ps ->
  exists qs, Permutation qs ps /\ Forall2 P k qs.
Proof.
  intros H. revert ps. induction H as [|x k l H IH|x y l|k l m H1 IH1 H2 IH2]; intros ps HF.
  - exists ps. split; auto.
  - inversion HF; subst. destruct (IH _ H4) as [qs [? ?]]. eexists (_ :: qs). split; [constructor;
      eassumption|now constructor].
  - inversion HF; subst. inversion H3; subst. eexists (_ :: _ :: _). split; [apply perm_swap|].
    repeat constructor; eauto.
  - destruct (IH2 _ HF) as [qs [Hq Fq]]. destruct (IH1 _ Fq) as [rs [Hr Fr]]. exists rs.
    split; auto. now transitivity qs.
Qed.
Lemma nonneg_total l : 0 <= total (map Z.abs l).
Proof. unfold total. induction l; cbn [fold_right map]; lia. Qed.
Theorem any_sum l r : sums l r -> forall ps, Forall2 term l ps -> total (map Z.abs ps) <= most ->
  is r (total ps).
Proof.
  intros H. induction H as [|x y|k l a b Hk IHk Hl IHl|x y l a Hl IH|k l a HP Hk IH];
    intros ps HF HB.
  - inversion HF; subst. apply is_zero.
  - inversion HF; subst. inversion H3; subst. destruct H1 as [c [d [Hc [Hd E]]]].
    cbn in *. rewrite Z.add_0_r in *.
    apply (is_mult x y c d); auto.
  - apply Forall2_app_inv_l in HF as [ps1 [ps2 [F1 [F2 ->]]]]. rewrite map_app, total_app in HB.
    rewrite total_app.
    pose proof (nonneg_total ps1). pose proof (nonneg_total ps2). pose proof (abs_total ps1).
    pose proof (abs_total ps2).
    apply is_plus; [apply IHk|apply IHl|]; auto; lia.
  - inversion HF as [|xy p l0 qs H1 H3]; subst. destruct H1 as [c [d [Hc [Hd E]]]].
    cbn [fst snd] in *.
    change (total (map Z.abs (p :: qs))) with (Z.abs p + total (map Z.abs qs)) in HB.
    change (total (p :: qs)) with (p + total qs).
    pose proof (nonneg_total qs). pose proof (abs_total qs).
    apply (is_fma x y a c d); auto; [apply IH; auto; lia|lia].
  - destruct (permuted term k l ps HP HF) as [qs [HQ FQ]]. rewrite <- (total_perm qs ps HQ).
    apply IH; auto. rewrite (total_perm _ _ (Permutation_map Z.abs HQ)). exact HB.
Qed.
Lemma zero_term x y a b : is x a -> is y b -> a * b = 0 -> term (x, y) 0.
Proof. intros. exists a, b. cbn. auto. Qed.
Lemma sum_and_size_ok x x' : Forall2 is x x' -> forall y y' s t s' t', Forall2 is y y' ->
  sum_and_size x' y' s t = Some (s', t') ->
  exists ps, Forall2 term (combine x y) ps /\ s' = s + total ps /\ t' = t + total (map Z.abs ps).
Proof.
  intros Hx. induction Hx as [|a a' x x' Ha Hx IH]; intros y y' s t s' t' Hy E;
    cbn [sum_and_size combine] in *.
  - injection E as <- <-. exists []. cbn. repeat split; auto; lia.
  - destruct Hy as [|b b' y y' Hb Hy]; [injection E as <- <-; exists []; cbn; repeat split; auto;
      lia|].
    assert (Z0case : a' * b' = 0 -> sum_and_size x' y' s t = Some (s', t') ->
        exists ps, Forall2 term (combine (a :: x) (b :: y)) ps /\ s' = s + total ps /\
          t' = t + total (map Z.abs ps)).
    { intros P E0. destruct (IH _ _ _ _ _ _ Hy E0) as [ps [F [-> ->]]]. exists (0 :: ps).
      split; [|split; reflexivity].
      constructor; auto. now apply (zero_term a b a' b'). }
    assert (Pcase : forall p, scaled (a' * b') = Some p -> sum_and_size x' y' (s + p) (t + Z.abs
      p) = Some (s', t') ->
        exists ps, Forall2 term (combine (a :: x) (b :: y)) ps /\ s' = s + total ps /\
          t' = t + total (map Z.abs ps)).
    { intros p P E0. destruct (IH _ _ _ _ _ _ Hy E0) as [ps [F [-> ->]]]. exists (p :: ps).
      split; [|cbn [total fold_right map]; fold (total ps) (total (map Z.abs ps)); split; lia].
      constructor; auto. exists a', b'. cbn. repeat split; auto; try apply Ha; try apply Hb.
      now apply scaled_ok. }
    destruct a' as [|a'|a']; [now apply Z0case| |]; (destruct b' as [|b'|b']; [apply Z0case; auto;
      lia| |]);
      (destruct (scaled _) as [p|] eqn:P in E; [|discriminate]; now apply (Pcase p)).
Qed.

Lemma value_zero x : is x 0 -> exists s, x = B754_zero s.
Proof.
  intros [Fx Vx]. rewrite Rmult_0_l in Vx. destruct x as [s|s| |s m e p]; try discriminate;
    [now exists s|].
  exfalso. cbn in Vx. apply eq_0_F2R in Vx. destruct s; discriminate.
Qed.
Lemma is_root x z y : exact_root z = Some y -> is x z -> is (Bsqrt mode_NE x) y.
Proof.
  unfold exact_root. destruct (Z.eqb_spec z 0) as [->|_].
  - intros [= <-] H. destruct (value_zero x H) as [s ->]. split; cbn; [reflexivity|ring].
  - destruct (Z.eqb_spec z 256) as [->|]; [|discriminate]. intros [= <-] [Fx Vx].
    destruct (Bsqrt_correct 24 128 _ _ mode_NE x) as [C [D _]]. rewrite Vx, grain_256, sqrt_1 in C.
    split.
    + rewrite D. destruct x as [s|s| |[|] m e p]; try discriminate; auto. exfalso.
      rewrite grain_256 in Vx. cbn in Vx. assert (L : (F2R (Float radix2 (Z.neg m) e) < 0)%R) by
        now apply F2R_lt_0.
      unfold F2R in *; cbn in *. lra.
    + rewrite C, <- grain_256. apply kept. unfold most. lia.
Qed.
Lemma tiny_value : B2R tiny = F2R (Float radix2 9223372 (-63)) /\ is_finite tiny = true.
Proof.
  assert (E : B2SF tiny = SpecFloat.S754_finite false 9223372 (-63)) by (vm_compute; reflexivity).
  destruct tiny as [s|s| |s m e p]; cbn in E; try discriminate. injection E as -> -> ->. split;
    reflexivity.
Qed.
Lemma tiny_pos : (0 < B2R tiny)%R. Proof. rewrite (proj1 tiny_value). now apply F2R_gt_0. Qed.
Lemma tiny_small : (B2R tiny < 1)%R.
Proof.
  rewrite (proj1 tiny_value). unfold F2R; cbn [Fnum Fexp].
  apply Rlt_le_trans with (bpow radix2 24 * bpow radix2 (-63))%R.
  - apply Rmult_lt_compat_r; [apply bpow_gt_0|]. change (bpow radix2 24) with (IZR 16777216).
    now apply IZR_lt.
  - rewrite <- bpow_plus. change 1%R with (bpow radix2 0). now apply bpow_le.
Qed.
Lemma is_over x n a b y : exact_over a b = Some y -> is x a -> is n b ->
  is (Bdiv mode_NE x (at_least tiny n)) y.
Proof.
  unfold exact_over. destruct (Z.eqb_spec b 256) as [->|_].
  - intros E [Fx Vx] [Fn Vn]. apply fits_ok in E as [-> B]. rewrite grain_256 in Vn.
    unfold at_least, smaller. rewrite Bltb_correct by (auto; apply tiny_value).
    rewrite Vn, Rlt_bool_false by (left; apply tiny_small).
    pose proof (Bdiv_correct 24 128 _ _ mode_NE x n) as C. rewrite Vn, Vx in C.
    unfold Rdiv in C. rewrite Rinv_1, Rmult_1_r, kept, no_overflow, Fx in C by exact B.
    assert (1 <> 0)%R by lra. split; tauto.
  - destruct (Z.eqb_spec b 0) as [->|]; [|discriminate]. destruct (Z.eqb_spec a 0) as [->|];
      [|discriminate].
    intros [= <-] [Fx Vx] [Fn Vn]. rewrite Rmult_0_l in Vx, Vn.
    unfold at_least, smaller. rewrite Bltb_correct by (auto; apply tiny_value).
    rewrite Vn, Rlt_bool_true by apply tiny_pos.
    pose proof (Bdiv_correct 24 128 _ _ mode_NE x tiny) as C. rewrite Vx in C. unfold Rdiv in C.
    rewrite Rmult_0_l, round_0 in C by apply valid_rnd_N.
    rewrite Rabs_R0, Rlt_bool_true, Fx in C by apply bpow_gt_0. pose proof tiny_pos.
    assert (B2R tiny <> 0)%R by lra.
    unfold is. rewrite Rmult_0_l. split; tauto.
Qed.
Lemma is_far : is far 28160. Proof. now apply is_literal. Qed.
Lemma is_one : is one 256. Proof. now apply is_literal. Qed.
Lemma is_opp x z : is x z -> is (Bopp x) (- z).
Proof. intros [Fx Vx]. split; [now rewrite is_finite_Bopp|]. rewrite B2R_Bopp, Vx, opp_IZR. ring.
Qed.
Lemma is_equal_zero x z : is x z -> z = 0 -> Beqb x zero = true.
Proof. intros H ->. destruct (value_zero x H) as [s ->]. reflexivity. Qed.

Lemma exact_dot_ok x x' y y' z r : Forall2 is x x' -> Forall2 is y y' ->
  exact_dot x' y' = Some z -> any_order x y r -> is r z.
Proof.
  intros Hx Hy E Hr. unfold exact_dot in E. destruct (sum_and_size x' y' 0 0) as [[s t]|] eqn:Es;
    [|discriminate].
  destruct (Z.leb_spec t most); [|discriminate]. injection E as <-.
  destruct (sum_and_size_ok x x' Hx y y' 0 0 s t Hy Es) as [ps [F [-> ->]]].
  now apply (any_sum (combine x y)).
Qed.
Lemma skip_more {A} g : forall (x : list A), match skipn g x with [] => skipn (S g) x = [] | _ ::
  r => skipn (S g) x = r end.
Proof. induction g as [|g IH]; intros [|a x]; cbn; auto. apply (IH x). Qed.
Lemma sparse_sum_ok c : forall g x s t, sparse_sum x (sparse g c) s t = sum_and_size (skipn g x) c
  s t.
Proof.
  induction c as [|w c IH]; intros g x s t.
  - cbn. destruct (skipn g x) as [|[]]; reflexivity.
  - pose proof (skip_more g x) as K. destruct w as [|w|w]; cbn [sparse].
    + rewrite IH. destruct (skipn g x) as [|a r]; rewrite K; [destruct c; reflexivity|].
      destruct a; reflexivity.
    + cbn [sparse_sum]. destruct (skipn g x) as [|[|a|a] r]; cbn [sum_and_size]; auto;
        try apply (IH O); (destruct (scaled _); [apply (IH O)|reflexivity]).
    + cbn [sparse_sum]. destruct (skipn g x) as [|[|a|a] r]; cbn [sum_and_size]; auto;
        try apply (IH O); (destruct (scaled _); [apply (IH O)|reflexivity]).
Qed.
Lemma gate_ok g x x' y z : is_gate g -> is x x' -> g x y -> saturated 0 None 256 x' = Some z ->
  is y z.
Proof.
  intros Hg Hx Hy E. destruct (proj2 Hg x y Hy) as [A B]. unfold saturated in E.
  rewrite (is_less x _ x' _ Hx (is_opp _ _ is_far)) in A. rewrite (is_less _ x _ x' is_far Hx) in
    B. change (- (28160)) with (-28160) in A.
  destruct (x' <? -28160); [injection E as <-; rewrite A by auto; apply is_zero|].
  destruct (28160 <? x'); [injection E as <-; rewrite B by auto; apply is_one|].
  destruct (x' =? 0); discriminate.
Qed.
Lemma quotient_ok x n a b z : is x a -> is n b -> exact_quotient a b = Some z ->
  is (Bdiv mode_NE x n) z.
Proof.
  intros [Fx Vx] [Fn Vn] E. unfold exact_quotient in E. destruct (Z.eqb_spec b 256) as [->|];
    [|discriminate].
  apply fits_ok in E as [-> B]. rewrite grain_256 in Vn.
  pose proof (Bdiv_correct 24 128 _ _ mode_NE x n) as C. rewrite Vn, Vx in C.
  unfold Rdiv in C. rewrite Rinv_1, Rmult_1_r, kept, no_overflow, Fx in C by exact B.
  assert (1 <> 0)%R by lra. split; tauto.
Qed.

Theorem integers_sound sig gat th : is_sigmoid sig -> is_gate gat -> is_tanh th ->
  sound_arith (device any_order sig gat th) integers stored_column is.
Proof.
  intros Hs Hg Ht. constructor; unfold refines; cbn -[literal exact_column stored_column].
  - intros w z E a <-. now apply is_literal.
  - intros x x' Hx z [= <-] r <-. now apply is_opp.
  - intros x x' c Hx z E r Hr. unfold stored_column in E. destruct (exact_column c) as [ps|]
      eqn:Ec; [|discriminate].
    cbn [column_dot] in E. rewrite sparse_sum_ok in E. cbn [skipn] in E.
    apply (exact_dot_ok x x' (map float c) ps); auto. now apply is_column.
  - intros x x' y y' Hx Hy z E r Hr. now apply (exact_dot_ok x x' y y').
  - intros x x' y y' Hx Hy z E r <-. apply fits_ok in E as [-> B]. now apply is_minus.
  - intros x x' y y' Hx Hy z E r <-. unfold exact_mul in E. destruct (scaled (x' * y')) as [p|]
      eqn:Ep; [|discriminate].
    apply fits_ok in E as [-> B]. apply (is_mult x y x' y'); auto. now apply scaled_ok.
  - intros x x' y y' Hx Hy z E r <-. apply fits_ok in E as [-> B]. now apply is_plus.
  - intros x x' y y' Hx Hy z E r <-. now apply (quotient_ok x y x' y').
  - intros x x' Hx z E r <-. now apply (is_root x x').
  - intros x x' Hx z [= <-] r <-. rewrite (is_less x zero x' 0 Hx is_zero).
    destruct (x' <? 0); auto. apply is_zero.
  - intros x x' Hx z E r Hr. destruct Hs as [Hs C]. unfold saturated in E.
    pose proof (gate_ok sig x x' r z Hs Hx Hr) as G. unfold saturated in G.
    destruct (x' <? -28160); [auto|]. destruct (28160 <? x'); [auto|].
    destruct (Z.eqb_spec x' 0); [|discriminate]. injection E as <-.
    rewrite (C x r Hr) by (now apply (is_equal_zero x x')). now apply is_literal.
  - intros x x' Hx z E r Hr. destruct (proj2 Ht x r Hr) as [A [B C]]. unfold saturated in E.
    rewrite (is_less x _ x' _ Hx (is_opp _ _ is_far)) in A.
    rewrite (is_less _ x _ x' is_far Hx) in B. change (- (28160)) with (-28160) in A.
    destruct (x' <? -28160); [injection E as <-; rewrite A by auto; apply (is_opp _ 256), is_one|].
    destruct (28160 <? x'); [injection E as <-; rewrite B by auto; apply is_one|].
    destruct (Z.eqb_spec x' 0) as [->|]; [|discriminate].
    injection E as <-. rewrite C by (now apply (is_equal_zero x 0)). exact Hx.
  - intros x x' Hx z E r Hr. now apply (gate_ok gat x x').
  - intros x x' y y' Hx Hy z E r <-. now apply (is_over x y x' y').
  - intros x x' Hx z [= <-] r <-. unfold at_least. rewrite (is_less x one x' 256 Hx is_one).
    destruct (x' <? 256); auto. apply is_one.
Qed.

Definition closed_in_any_order (n : network (list word)) := closed integers Z.eqb Z.ltb
  (network_map stored_column n).
Theorem any_order_right n d hints : closed_in_any_order n d hints = true ->
  answers_every_word any_order n d.
Proof.
  intros K. split; [now apply andb_prop in K as [K _]|]. intros sig gat th Hs Hg Ht w a Hw.
  split; [apply a_result_exists; [intros; apply some_sum|]; intros x;
          split; [apply Hs|split; [apply Hg|apply Ht]]|].
  apply (closed_is_right _ _ _ _ (integers_sound sig gat th Hs Hg Ht) Z.eqb Z.ltb) with hints;
    auto.
  - apply Z.eqb_eq.
  - intros x x' y y' Hx Hy L. now rewrite (is_less x y x' y').
Qed.

(* The assumptions on sigmoid, gate and tanh can be met. *)
Definition steep (low mid high x : f32) : f32 :=
  if smaller x (Bopp far) then low else if smaller far x then high else mid.
Lemma not_both x : smaller x (Bopp far) = true -> smaller far x = true -> False.
Proof.
  unfold smaller. destruct x as [[|]|[|]| |s m e p].
  1, 2, 4, 5: intros H _; vm_compute in H; discriminate.
  - intros _ H. vm_compute in H. discriminate.
  - destruct is_far as [Ff Vf]. set (x := B754_finite s m e p).
    rewrite !Bltb_correct by (auto; now rewrite is_finite_Bopp). rewrite B2R_Bopp, Vf.
    intros H K.
    destruct (Rlt_bool_spec (B2R x) (- (IZR 28160 * grain))); [|discriminate].
    destruct (Rlt_bool_spec (IZR 28160 * grain) (B2R x)); [|discriminate]. pose proof grain_pos.
    assert (0 < IZR 28160 * grain)%R by (apply Rmult_lt_0_compat; auto; now apply IZR_lt). lra.
Qed.
Lemma zero_is_near x : Beqb x zero = true -> smaller x (Bopp far) = false /\ smaller far x = false.
Proof. destruct x as [[|]|[|]| |[|] m e p]; intros H; try discriminate H; split; vm_compute;
  reflexivity. Qed.
Theorem a_sigmoid_exists : exists f, is_sigmoid f.
Proof.
  exists (fun x y => steep zero half one x = y). split; [split; [intros x; now eexists|]|].
  - intros x y <-. unfold steep. split; intros H.
    + now rewrite H.
    + destruct (smaller x (Bopp far)) eqn:E; [destruct (not_both x E H)|now rewrite H].
  - intros x y <- H. unfold steep. now destruct (zero_is_near x H) as [-> ->].
Qed.
Theorem a_tanh_exists : exists f, is_tanh f.
Proof.
  exists (fun x y => steep (Bopp one) x one x = y). split; [intros x; now eexists|].
  intros x y <-. unfold steep. repeat split; intros H.
  - now rewrite H.
  - destruct (smaller x (Bopp far)) eqn:E; [destruct (not_both x E H)|now rewrite H].
  - now destruct (zero_is_near x H) as [-> ->].
Qed.

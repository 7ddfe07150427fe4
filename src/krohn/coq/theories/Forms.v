(* Forms: a number is a linear form of counts, give or take; what sums of products make of forms.
   Two numbers that have an error in common keep it as one coefficient, so that it cancels where
   they are subtracted; boxes would add it up. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention.
Import ListNotations.
Open Scope Z_scope.

Fixpoint dot (cs : list Z) (n : nat -> Z) : Z := match cs with [] => 0 | c :: cs =>
  c * n O + dot cs (fun j => n (S j)) end.
(* in multiples of 2^-40: Low + dot <= x <= High + dot *)
Record form := { Coefs : list Z; Low : Z; High : Z }.
Definition inf (F : form) (n : nat -> Z) (x : f32) : Prop :=
  is_finite x = true /\ (IZR (Low F + dot (Coefs F) n) <= at40 (B2R x) <= IZR (High F + dot (Coefs
    F) n))%R.
Definition constant (b : box) : form := {| Coefs := []; Low := fst b; High := snd b |}.
Lemma constant_sound b n x : inb b x -> inf (constant b) n x.
Proof. intros [F H]. split; [exact F|]. cbn [constant Coefs Low High dot]. rewrite !Z.add_0_r.
exact H. Qed.
Fixpoint added (a b : list Z) : list Z := match a, b with [], _ => b | _, [] =>
  a | x :: a, y :: b => x + y :: added a b end.
Lemma dot_added a : forall b n, dot (added a b) n = dot a n + dot b n.
Proof. induction a as [|x a IH]; intros [|y b] n; cbn [added dot]; try lia. rewrite IH. lia. Qed.
Lemma dot_scaled w a : forall n, dot (map (Z.mul w) a) n = w * dot a n.
Proof. induction a as [|x a IH]; intros n; cbn [map dot]; [lia|]. rewrite IH. lia. Qed.
Lemma dot_sum cs : forall f g, dot cs (fun j => f j + g j) = dot cs f + dot cs g.
Proof. induction cs as [|c cs IH]; intros f g; cbn [dot]; [lia|]. rewrite (IH (fun j =>
  f (S j)) (fun j => g (S j))). lia. Qed.
Lemma dot_zero cs : dot cs (fun _ => 0) = 0.
Proof. induction cs as [|c cs IH]; cbn [dot]; [lia|]. rewrite IH. lia. Qed.
Definition only (j : nat) (a : Z) : list Z := repeat 0 j ++ [a].
Lemma dot_only j a : forall n, dot (only j a) n = a * n j.
Proof. unfold only. induction j as [|j IH]; intros n; cbn [repeat app dot]; [lia|]. rewrite IH.
lia. Qed.

Definition within (ns : nat -> Z * Z) (n : nat -> Z) : Prop := forall j, fst (ns j) <= n j <= snd
  (ns j).
Fixpoint dot_range (cs : list Z) (ns : nat -> Z * Z) : Z * Z :=
  match cs with
  | [] => (0, 0)
  | c :: cs => let '(l, h) := ns O in let '(a, b) := dot_range cs (fun j => ns (S j)) in
               if 0 <=? c then (c * l + a, c * h + b) else (c * h + a, c * l + b)
  end.
Lemma dot_range_sound cs : forall ns n, within ns n -> fst (dot_range cs ns) <= dot cs n <= snd
  (dot_range cs ns).
Proof.
  induction cs as [|c cs IH]; intros ns n H; cbn [dot_range dot]; [cbn; lia|].
  specialize (IH (fun j => ns (S j)) (fun j => n (S j)) (fun j => H (S j))).
  pose proof (H O) as H0. destruct (ns O) as [l h]. destruct (dot_range cs _) as [a b].
  cbn [fst snd] in *. destruct (Z.leb_spec 0 c); cbn [fst snd]; nia.
Qed.
Definition form_box (F : form) (ns : nat -> Z * Z) : box := let '(a, b) :=
  dot_range (Coefs F) ns in (Low F + a, High F + b).
Lemma form_box_sound F ns n x : within ns n -> inf F n x -> inb (form_box F ns) x.
Proof.
  intros H [F1 [A B]]. unfold form_box. pose proof (dot_range_sound (Coefs F) ns n H) as D.
  destruct (dot_range _ _) as [a b]. cbn [fst snd] in *.
  split; [exact F1|]. cbn [fst snd]. split; [eapply Rle_trans; [|exact A]|eapply Rle_trans;
    [exact B|]]; apply IZR_le; lia.
Qed.
(* where the combination gs of the counts is z *)
Fixpoint ratio (cs gs : list Z) : Z := match cs, gs with c :: cs, g :: gs => if g =? 0 then
  ratio cs gs else c / g | _, _ => 0 end.
Definition view_box (F : form) (gs : list Z) (z : Z) (ns : nat -> Z * Z) : box :=
  let a := ratio (Coefs F) gs in
  form_box {| Coefs := added (Coefs F) (map (Z.mul (- a)) gs); Low := Low F + a * z; High :=
    High F + a * z |} ns.
Lemma view_box_sound F gs z ns n x : within ns n -> dot gs n = z -> inf F n x ->
  inb (view_box F gs z ns) x.
Proof.
  intros H Hz [F1 I]. unfold view_box. cbv zeta. apply (form_box_sound _ _ n); auto.
  split; [exact F1|]. cbn [Coefs Low High].
  rewrite dot_added, dot_scaled, Hz. set (a := ratio _ _).
  replace (Low F + a * z + (dot (Coefs F) n + - a * z)) with (Low F + dot (Coefs F) n) by ring.
  replace (High F + a * z + (dot (Coefs F) n + - a * z)) with (High F + dot (Coefs F) n) by ring.
  exact I.
Qed.

(* ---------- sums of products of forms and boxes ---------- *)
Section Span.
Variable span : nat -> Z * Z.
Definition is_null_form (F : form) : bool := match Coefs F with [] => is_zero (Low F, High F) | _
  => false end.
(* in multiples of 2^-80: coefficients, low, high, size *)
Fixpoint form_tot (l : list (form * box)) (cs : list Z) (lo hi size : Z) : list Z * Z * Z * Z :=
  match l with
  | [] => (cs, lo, hi, size)
  | (F, w) :: l => if is_null_form F || is_zero w then form_tot l cs lo hi size else
      let '(p, q) := box_mul (form_box F span) w in let size := size + Z.max (Z.abs p) (Z.abs q) in
      if fst w =? snd w then
        let '(a, b) := box_mul (Low F, High F) w in
        form_tot l (if fst w =? 0 then cs else added cs (map (Z.mul (fst w)) (Coefs F))) (lo + a)
          (hi + b) size
      else form_tot l cs (lo + p) (hi + q) size
  end.
Fixpoint nonzero_forms (l : list (form * box)) : nat := match l with [] => O | (F, b) :: l =>
  if is_null_form F || is_zero b then nonzero_forms l else S (nonzero_forms l) end.
Definition form_sum (l : list (form * box)) : option form :=
  let '(cs, lo, hi, size) := form_tot l [] 0 0 0 in let m := Z.of_nat (nonzero_forms l) in
  if has_bound m size then
    let '(c, d) := dot_range cs span in
    let r := rounding_to m size (top_of (lo + c) (hi + d) size) in
    let '(a, b) := dot_range (map (fun c => c - Z.shiftr c 40 * grid) cs) span in
    Some {| Coefs := map (fun c => Z.shiftr c 40) cs; Low := Z.shiftr (lo - r + a) 40; High :=
      - Z.shiftr (- (hi + r + b)) 40 |}
  else None.
Variable n : nat -> Z.
Hypothesis in_span : within span n.
Definition fits_terms (fs : list (form * box)) (l : list (f32 * f32)) : Prop :=
  Forall2 (fun fb p => inf (fst fb) n (fst p) /\ inb (snd fb) (snd p)) fs l.
Lemma null_term F w x y : is_null_form F || is_zero w = true -> inf F n x -> inb w y ->
  (B2R x * B2R y = 0)%R.
Proof.
  intros E Hx Hy. apply orb_prop in E as [E|E]; [|rewrite (is_zero_sound _ _ E Hy); ring].
  unfold is_null_form in E. destruct Hx as [Fx Hx]. destruct (Coefs F); [|discriminate].
  cbn [dot] in Hx. rewrite !Z.add_0_r in Hx.
  rewrite (is_zero_sound (Low F, High F) x E (conj Fx Hx)). ring.
Qed.
Lemma form_tot_sound l : forall fs cs lo hi size cs' lo' hi' size' a b, fits_terms fs l ->
  form_tot fs cs lo hi size = (cs', lo', hi', size') ->
  (IZR (lo + dot cs n) <= at80 a <= IZR (hi + dot cs n))%R -> (at80 b <= IZR size)%R ->
  (IZR (lo' + dot cs' n) <= at80 (a + tot l) <= IZR (hi' + dot cs' n))%R /\
    (at80 (b + Bounds.size l) <= IZR size')%R.
Proof.
  induction l as [|[x y] l IH]; intros fs cs lo hi size cs' lo' hi' size' a b HF E HA HB;
    inversion HF; subst.
  - injection E as <- <- <- <-. cbn. rewrite !Rplus_0_r. auto.
  - match goal with H : _ /\ _ |- _ => destruct H as [Hx Hy] end.
    match goal with fb : (form * box)%type |- _ => destruct fb as [F w] end.
    cbn [fst snd] in *. cbn [form_tot] in E. destruct (is_null_form F || is_zero w) eqn:N.
    { cbn [tot Bounds.size fold_right fst snd]. rewrite (null_term F w x y N Hx Hy), Rabs_R0.
      rewrite !Rplus_0_l. eapply IH; eassumption. }
    destruct (box_mul (form_box F span) w) as [p q] eqn:M.
    pose proof (form_box_sound F span n x in_span Hx) as [_ Bx]. pose proof Hy as [_ By].
    pose proof (box_mul_sound _ _ _ _ _ _ Bx By M) as P.
    assert (P' : (at40 (B2R x) * at40 (B2R y) = at80 (B2R x * B2R y))%R) by (unfold at40, at80;
      ring). rewrite P' in P.
    assert (Q : (at80 (Rabs (B2R x * B2R y)) <= IZR (Z.max (Z.abs p) (Z.abs q)))%R).
    { rewrite IZR_max, !abs_IZR. replace (at80 (Rabs (B2R x * B2R y))) with (Rabs (at80 (B2R x *
        B2R y))).
      - unfold Rabs, Rmax; repeat destruct Rcase_abs; repeat destruct Rle_dec; lra.
      - unfold at80. pose proof grid_pos. rewrite !Rabs_mult, !(Rabs_pos_eq (IZR grid)) by lra.
        ring. }
    cbv zeta in E. cbn [tot Bounds.size fold_right fst snd].
    assert (S : (at80 (b + Rabs (B2R x * B2R y)) <= IZR (size + Z.max (Z.abs p) (Z.abs q)))%R).
    { replace (at80 (b + Rabs (B2R x * B2R y))) with (at80 b + at80 (Rabs (B2R x * B2R y)))%R by
        (unfold at80; ring). rewrite plus_IZR. lra. }
    assert (TA : at80 (a + B2R x * B2R y) = (at80 a + at80 (B2R x * B2R y))%R) by (unfold at80;
      ring).
    rewrite <- !Rplus_assoc. destruct (Z.eqb_spec (fst w) (snd w)) as [W|].
    + destruct (box_mul (Low F, High F) w) as [c d] eqn:M2.
      eapply IH; [eassumption|exact E| |exact S]. rewrite TA, <- P'.
      destruct Hx as [_ Hx]. set (k := dot (Coefs F) n) in *. rewrite <- W in By.
      assert (Y : at40 (B2R y) = IZR (fst w)) by lra.
      assert (R : (IZR c <= (at40 (B2R x) - IZR k) * at40 (B2R y) <= IZR d)%R).
      { eapply box_mul_sound; [| |exact M2]; cbn [fst snd]; [rewrite !plus_IZR in Hx;
          lra|rewrite <- W; lra]. }
      assert (D : dot (if fst w =? 0 then cs else added cs (map (Z.mul (fst w)) (Coefs F))) n =
        dot cs n + fst w * k).
      { destruct (Z.eqb_spec (fst w) 0) as [->|]; [lia|]. now rewrite dot_added, dot_scaled. }
      rewrite D. rewrite !plus_IZR, mult_IZR. rewrite !plus_IZR in HA. rewrite <- Y in *. lra.
    + eapply IH; [eassumption|exact E| |exact S]. rewrite TA. rewrite !plus_IZR in *. lra.
Qed.
Lemma dot_shifted cs : forall m, dot cs m = dot (map (fun c => Z.shiftr c 40) cs) m * grid + dot
  (map (fun c => c - Z.shiftr c 40 * grid) cs) m.
Proof. induction cs as [|c cs IH]; intros m; cbn [map dot]; [lia|]. rewrite (IH (fun j =>
  m (S j))). lia. Qed.
Lemma nonzero_forms_sound fs l : fits_terms fs l -> (nz l <= nonzero_forms fs)%nat.
Proof.
  intros H. induction H as [|[F b] [x y] fs l [Hx Hy] H IH]; cbn [nz nonzero_forms fst snd] in *;
    [lia|]. destruct (is_null_form F || is_zero b) eqn:E.
  - destruct Req_EM_T as [|N]; [exact IH|]. exfalso. apply N. eapply null_term; eauto.
  - destruct Req_EM_T; lia.
Qed.
Theorem form_sum_sound fs l r F : fits_terms fs l -> form_sum fs = Some F -> sums l r -> inf F n r.
Proof.
  intros HF E HS. unfold form_sum in E. destruct (form_tot fs [] 0 0 0) as [[[cs lo] hi] size]
    eqn:T.
  cbv zeta in E. destruct has_bound eqn:HB; [|discriminate].
  pose proof (dot_range_sound cs span n in_span) as DT. destruct (dot_range cs span) as [c0 d0].
  set (rr := rounding_to _ _ _) in *.
  pose proof (dot_range_sound (map (fun c => c - Z.shiftr c 40 * grid) cs) span n in_span) as D.
  destruct (dot_range _ span) as [a b]. cbn [fst snd] in D. apply some_inj in E. subst F.
  destruct (form_tot_sound l fs [] 0 0 0 cs lo hi size 0 0 HF T) as [B1 B2]; [unfold at80; cbn;
    lra|unfold at80; cbn; lra|]. rewrite Rplus_0_l in B1, B2.
  destruct (sum_error_to (nonzero_forms fs) l r size (top_of (lo + c0) (hi + d0) size) HS)
    as [F E]; [|exact (nonzero_forms_sound fs l HF)|exact B2| |exact HB|].
  2: { apply top_of_sound; [|exact B2]. cbn [fst snd] in DT. destruct DT as [D1 D2].
    apply IZR_le in D1, D2. rewrite !plus_IZR in *. lra. }
  { clear -HF. unfold all_finite. induction HF; constructor; auto. destruct H as [[H1 _] [H2 _]].
    auto. }
  fold rr in E. split; [exact F|]. cbn [Coefs Low High]. apply Rabs_le_inv in E.
  rewrite (dot_shifted cs n) in B1.
  set (k := dot (map (fun c => Z.shiftr c 40) cs) n) in *. set (m := dot (map _ cs) n) in
    *. pose proof grid_pos.
  change (at80 (B2R r)) with (at40 (B2R r) * IZR grid)%R in E.
  pose proof (IZR_shiftr (lo - rr + a) 40 ltac:(lia)) as [L1 _].
  pose proof (IZR_shiftr (- (hi + rr + b)) 40 ltac:(lia)) as [L2 _].
  change (2 ^ 40) with grid in *. destruct D as [D1 D2]. apply IZR_le in D1, D2.
  rewrite ?opp_IZR, ?plus_IZR, ?minus_IZR, ?mult_IZR in *.
  rewrite ?plus_IZR, ?minus_IZR, ?mult_IZR in *. split; apply Rmult_le_reg_r with (IZR grid);
    rewrite ?opp_IZR; lra.
Qed.
End Span.

(* ---------- a counter as a form ---------- *)
Definition counter_form (T j : nat) (W e f G dl V w0 v0 nl nh : Z) : option form :=
  let s := counter_size T W e f V w0 v0 in
  if (0 <=? W) && (0 <=? e) && (0 <=? f) && (0 <=? dl) && (0 <=? V) && (0 <=? w0) && (0 <=? v0) &&
    has_bound (Z.of_nat (S T)) s then
    let r := counter_off T W e f G dl V w0 v0 + rounding (Z.of_nat (S T)) s in let a :=
      Z.shiftr (W * G) 40 in let m := W * G - a * grid in
    Some {| Coefs := only j a; Low := Z.shiftr (m * nl - r) 40; High :=
      - Z.shiftr (- (m * nh + r)) 40 |}
  else None.
Lemma counter_form_sound T j W e f G dl V w0 v0 nl nh F (n : nat -> Z) y : counter_form T j W e f
  G dl V w0 v0 nl nh = Some F -> nl <= n j <= nh -> is_finite y = true ->
  (Rabs (at80 (B2R y) - IZR (W * G * n j)) <= IZR (counter_off T W e f G dl V w0 v0 + rounding
    (Z.of_nat (S T)) (counter_size T W e f V w0 v0)))%R -> inf F n y.
Proof.
  unfold counter_form. cbv zeta. destruct andb; [|discriminate]. intros E Hn Fy H.
  apply some_inj in E. subst F. split; [exact Fy|]. cbn [Coefs Low High]. rewrite dot_only.
  set (r := counter_off _ _ _ _ _ _ _ _ _ + _) in *. set (a := Z.shiftr (W * G) 40).
  set (m := W * G - a * grid).
  assert (M : 0 <= m). { unfold m, a. rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 40) with grid.
  pose proof (Z.mul_div_le (W * G) grid ltac:(lia)). lia. }
  assert (E : W * G * n j = a * n j * grid + m * n j) by (unfold m; ring). rewrite E in H.
  apply Rabs_le_inv in H. change (at80 (B2R y)) with (at40 (B2R y) * IZR grid)%R in H.
  pose proof (IZR_shiftr (m * nl - r) 40 ltac:(lia)) as [L1 _].
  pose proof (IZR_shiftr (- (m * nh + r)) 40 ltac:(lia)) as [L2 _]. change (2 ^ 40) with grid in *.
  assert (B1 : m * nl <= m * n j) by nia. assert (B2 : m * n j <= m * nh) by nia.
  apply IZR_le in B1, B2. pose proof grid_pos.
  rewrite ?opp_IZR, ?plus_IZR, ?minus_IZR in *. rewrite (mult_IZR (a * n j)) in H.
  split; apply Rmult_le_reg_r with (IZR grid); rewrite ?opp_IZR; lra.
Qed.

(* Trained LSTMs: boxes of their state that every letter maps into each other.
   A box belongs to a state of the automaton and a letter before it.  Sums of the cell are bounded
   in any order, sigmoid and tanh by their accuracy; if each letter maps each box into its
   follower, and on each box the right logit leads, then so it is after every word, by
   induction. *)
From Coq Require Import ZArith List Bool Lia Reals Lra Permutation.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Tensors Fits Transformer Boxes Softmax Attention
  Forms Counting Layers Counted Lstm.
Import ListNotations.
Local Open Scope Z_scope.

(* ---------- sigmoid and tanh on boxes ---------- *)
Lemma sigmoid_is x : (sigmoid x = exp x / (1 + exp x))%R.
Proof.
  unfold sigmoid. rewrite exp_Ropp. pose proof (exp_pos x). field. lra.
Qed.
Lemma sigmoid_le x y : (x <= y)%R -> (sigmoid x <= sigmoid y)%R.
Proof.
  intros H. unfold sigmoid. apply Rinv_le_contravar; [pose proof (exp_pos (- y)); lra|].
  apply Rplus_le_compat_l. destruct (Req_dec (- y) (- x)) as [->|]; [lra|]. left.
  apply exp_increasing. lra.
Qed.
Lemma sigmoid_opp x : (sigmoid (- x) = 1 - sigmoid x)%R.
Proof.
  unfold sigmoid. rewrite Ropp_involutive, exp_Ropp. pose proof (exp_pos x). field. lra.
Qed.
Lemma hyperbolic_is x : (hyperbolic x = 2 * sigmoid (2 * x) - 1)%R.
Proof.
  rewrite sigmoid_is. unfold hyperbolic. replace (2 * x)%R with (x + x)%R by ring.
  rewrite exp_plus, exp_Ropp. pose proof (exp_pos x). field. nra.
Qed.
(* t / (1 + t) in multiples of 2^-40 *)
Definition share_of (t : Z) : Z := t * grid / (grid + t).
Lemma share_sound a b t : 0 <= a -> (0 <= t)%R -> (IZR a <= at40 t <= IZR b)%R ->
  (IZR (share_of a) <= at40 (t / (1 + t)) <= IZR (share_of b + 1))%R.
Proof.
  intros A T [L U]. pose proof grid_pos as G. unfold share_of, at40 in *.
  assert (B : 0 <= b) by (apply le_IZR; apply IZR_le in A; nra).
  assert (Q : (t / (1 + t) * IZR grid * (IZR grid + t * IZR grid) =
    t * IZR grid * IZR grid)%R) by (field; lra).
  set (s := (t / (1 + t) * IZR grid)%R) in *. set (x := (t * IZR grid)%R) in *.
  assert (X : (0 <= x)%R) by (unfold x; nra).
  split.
  - pose proof (Z.mul_div_le (a * grid) (grid + a) ltac:(lia)) as D. apply IZR_le in D.
    rewrite !mult_IZR, plus_IZR in D. apply IZR_le in A.
    generalize dependent (IZR (a * grid / (grid + a))). intros l D.
    apply Rmult_le_reg_r with ((IZR grid + IZR a) * (IZR grid + x))%R; [nra|].
    apply Rle_trans with (IZR a * IZR grid * (IZR grid + x))%R; [nra|].
    replace (s * ((IZR grid + IZR a) * (IZR grid + x)))%R
      with (x * IZR grid * (IZR grid + IZR a))%R by (rewrite <- Q; ring). nra.
  - pose proof (Z.mul_succ_div_gt (b * grid) (grid + b) ltac:(lia)) as D. apply IZR_lt in D.
    rewrite (mult_IZR (grid + b)), succ_IZR, plus_IZR, mult_IZR in D. apply IZR_le in B.
    rewrite plus_IZR. generalize dependent (IZR (b * grid / (grid + b))). intros h D.
    apply Rmult_le_reg_r with ((IZR grid + IZR b) * (IZR grid + x))%R; [nra|].
    replace (s * ((IZR grid + IZR b) * (IZR grid + x)))%R
      with (x * IZR grid * (IZR grid + IZR b))%R by (rewrite <- Q; ring).
    apply Rle_trans with (IZR b * IZR grid * (IZR grid + x))%R; nra.
Qed.
Definition sigmoid_below (x : Z) : option (Z * Z) :=
  match exp_box x x with Some (a, b) => if 0 <=? a then Some (share_of a, share_of b + 1) else
    None
  | None => None end.
Definition sigmoid_at (x : Z) : option (Z * Z) :=
  if x <=? 0 then sigmoid_below x
  else match sigmoid_below (- x) with Some (l, h) => Some (grid - h, grid - l) | None => None end.
Lemma sigmoid_below_sound x l h r : sigmoid_below x = Some (l, h) -> at40 r = IZR x ->
  (IZR l <= at40 (sigmoid r) <= IZR h)%R.
Proof.
  unfold sigmoid_below. destruct (exp_box x x) as [[a b]|] eqn:E; [|discriminate].
  destruct (Z.leb_spec 0 a) as [A|]; [|discriminate]. intros [= <- <-] H.
  pose proof (exp_box_sound _ _ r _ E ltac:(lra)) as B. cbn [fst snd] in B.
  rewrite sigmoid_is. apply share_sound; [exact A|left; apply exp_pos|exact B].
Qed.
Lemma sigmoid_at_sound x l h r : sigmoid_at x = Some (l, h) -> at40 r = IZR x ->
  (IZR l <= at40 (sigmoid r) <= IZR h)%R.
Proof.
  unfold sigmoid_at. destruct (Z.leb_spec x 0); [apply sigmoid_below_sound|].
  destruct (sigmoid_below (- x)) as [[a b]|] eqn:E; [|discriminate]. intros EQ H1.
  apply some_inj in EQ. pose proof (f_equal fst EQ) as E1. pose proof (f_equal snd EQ) as E2.
  cbn [fst snd] in E1, E2. clear EQ. subst l h.
  assert (H2 : at40 (- r) = IZR (- x)) by (rewrite opp_IZR, <- H1; unfold at40; ring).
  pose proof (sigmoid_below_sound _ _ _ _ E H2) as B. rewrite sigmoid_opp in B.
  rewrite !minus_IZR. unfold at40 in *. lra.
Qed.
Notation slack := 524288.             (* 2^-21 *)
Definition sigmoid_box (b : box) : option box :=
  match sigmoid_at (fst b), sigmoid_at (snd b) with
  | Some (l, _), Some (_, h) => Some (l - slack, h + slack) | _, _ => None end.
Definition tanh_box (b : box) : option box :=
  match sigmoid_at (2 * fst b), sigmoid_at (2 * snd b) with
  | Some (l, _), Some (_, h) => Some (2 * l - grid - slack, 2 * h - grid + slack)
  | _, _ => None end.
Lemma on_grid z : at40 (IZR z / IZR grid) = IZR z.
Proof. unfold at40. field. Qed.
Lemma sigmoid_between l h a b r : sigmoid_at l = Some (fst a, snd a) ->
  sigmoid_at h = Some (fst b, snd b) -> (IZR l <= at40 r <= IZR h)%R ->
  (IZR (fst a) <= at40 (sigmoid r) <= IZR (snd b))%R.
Proof.
  intros E1 E2 [L U]. pose proof grid_pos as G.
  pose proof (sigmoid_at_sound _ _ _ _ E1 (on_grid l)) as [B1 _].
  pose proof (sigmoid_at_sound _ _ _ _ E2 (on_grid h)) as [_ B2].
  assert (X1 : (IZR l / IZR grid <= r)%R) by (apply Rmult_le_reg_r with (IZR grid); [lra|];
    fold (at40 (IZR l / IZR grid)); rewrite on_grid; exact L).
  assert (X2 : (r <= IZR h / IZR grid)%R) by (apply Rmult_le_reg_r with (IZR grid); [lra|];
    fold (at40 (IZR h / IZR grid)); rewrite on_grid; exact U).
  apply sigmoid_le in X1, X2. unfold at40 in *. split; nra.
Qed.
Lemma near_slack f g x y : is_near f g -> g x y -> is_finite x = true -> is_finite y = true /\
  (at40 (f (B2R x)) - IZR slack <= at40 (B2R y) <= at40 (f (B2R x)) + IZR slack)%R.
Proof.
  intros [_ H] Hg F. destruct (H x y Hg F) as [Fy A]. split; [exact Fy|].
  assert (E : (bpow radix2 (-21) * IZR grid = IZR slack)%R) by (rewrite grid_is, <- bpow_plus;
    reflexivity).
  apply Rabs_le_inv in A. unfold at40. pose proof grid_pos. rewrite <- E. split; nra.
Qed.
Lemma sigmoid_box_sound g b c x y : is_near sigmoid g -> sigmoid_box b = Some c -> inb b x ->
  g x y -> inb c y.
Proof.
  intros HN E [F B] Hg. unfold sigmoid_box in E.
  destruct (sigmoid_at (fst b)) as [[l l']|] eqn:E1; [|discriminate].
  destruct (sigmoid_at (snd b)) as [[h' h]|] eqn:E2; [|discriminate]. apply some_inj in E. subst
    c.
  pose proof (sigmoid_between _ _ (l, l') (h', h) _ E1 E2 B) as S. cbn [fst snd] in S.
  destruct (near_slack _ _ _ _ HN Hg F) as [Fy N]. split; [exact Fy|]. cbn [fst snd].
  rewrite minus_IZR, plus_IZR. lra.
Qed.
Lemma tanh_box_sound g b c x y : is_near hyperbolic g -> tanh_box b = Some c -> inb b x ->
  g x y -> inb c y.
Proof.
  intros HN E [F B] Hg. unfold tanh_box in E.
  destruct (sigmoid_at (2 * fst b)) as [[l l']|] eqn:E1; [|discriminate].
  destruct (sigmoid_at (2 * snd b)) as [[h' h]|] eqn:E2; [|discriminate].
  apply some_inj in E. subst c.
  assert (B2 : (IZR (2 * fst b) <= at40 (2 * B2R x) <= IZR (2 * snd b))%R) by (rewrite !mult_IZR;
    unfold at40 in *; lra).
  pose proof (sigmoid_between _ _ (l, l') (h', h) _ E1 E2 B2) as S. cbn [fst snd] in S.
  destruct (near_slack _ _ _ _ HN Hg F) as [Fy N]. rewrite hyperbolic_is in N.
  split; [exact Fy|]. cbn [fst snd]. rewrite minus_IZR, plus_IZR, !minus_IZR, !mult_IZR.
  unfold at40 in *. lra.
Qed.
Lemma each_box (f : box -> option box) (g : f32 -> f32 -> Prop) X x Y y : (forall b c u v,
  f b = Some c -> inb b u -> g u v -> inb c v) -> inv X x -> mapM f X = Some Y -> Forall2 g x y ->
  inv Y y.
Proof.
  intros H HX HM HG. apply mapM_some in HM. unfold inv in *. revert Y HM y HG.
  induction HX as [|b u X x Hb HX IH]; intros Y HM y HG; inversion HM; subst; inversion HG; subst;
    constructor; eauto.
Qed.
Lemma inv_firstn k X x : inv X x -> inv (firstn k X) (firstn k x).
Proof. intros H. revert k. induction H; intros [|k]; cbn; constructor; auto. apply IHForall2. Qed.
Lemma inv_skipn k X x : inv X x -> inv (skipn k X) (skipn k x).
Proof. intros H. revert k. induction H; intros [|k]; cbn; try constructor; auto. Qed.

(* ---------- the claim is about something: such a sigmoid and such a tanh exist ---------- *)
Lemma rounded_is_near (f : R -> R) : (forall x, (-1 <= f x <= 1)%R) ->
  is_near f (fun x y => nearest (f (B2R x)) = y).
Proof.
  intros H. split; [intros x; eexists; reflexivity|]. intros x y <- _.
  destruct (nearest_is (f (B2R x)) (H _)) as [F N]. split; [exact F|]. rewrite N.
  destruct (rnd_any (f (B2R x))) as [d [e [Hd [He ->]]]]. specialize (H (B2R x)).
  apply Rabs_le_inv in Hd, He. pose proof u_pos.
  assert (U : (u <= bpow radix2 (-22))%R) by (unfold u; apply bpow_le; lia).
  assert (T : (eta <= bpow radix2 (-22))%R) by (unfold eta; apply bpow_le; lia).
  replace (bpow radix2 (-21)) with (2 * bpow radix2 (-22))%R by (cbn; lra).
  set (v := f (B2R x)) in *. apply Rabs_le. split; nra.
Qed.
Lemma sigmoid_bounds x : (0 < sigmoid x < 1)%R.
Proof.
  unfold sigmoid. pose proof (exp_pos (- x)) as P. split; [apply Rinv_0_lt_compat; lra|].
  rewrite <- Rinv_1. apply Rinv_lt_contravar; lra.
Qed.
Theorem a_sigmoid_and_a_tanh_exist :
  (exists sg, is_near sigmoid sg) /\ (exists th, is_near hyperbolic th).
Proof.
  split; eexists; apply rounded_is_near; intros x.
  - pose proof (sigmoid_bounds x). lra.
  - rewrite hyperbolic_is. pose proof (sigmoid_bounds (2 * x)). lra.
Qed.

(* ---------- one step ---------- *)
Section Step.
Variables (z : lsizes) (ts : list tensor) (sg th : f32 -> f32 -> Prop).
Hypotheses (near_sg : is_near sigmoid sg) (near_th : is_near hyperbolic th).
Notation n := (LUnits z).
Notation bgate := (list box * list box * box)%type.
Definition box_gate (g : vec * vec * f32) : option bgate :=
  match boxes_of (fst (fst g)), boxes_of (snd (fst g)), box_of (snd g) with
  | Some a, Some b, Some c => Some (a, b, c) | _, _, _ => None end.
Definition ing (G : bgate) (g : vec * vec * f32) : Prop :=
  inv (fst (fst G)) (fst (fst g)) /\ inv (snd (fst G)) (snd (fst g)) /\ inb (snd G) (snd g).
Lemma box_gate_sound g G : box_gate g = Some G -> ing G g.
Proof.
  unfold box_gate. destruct (boxes_of (fst (fst g))) eqn:E1; [|discriminate].
  destruct (boxes_of (snd (fst g))) eqn:E2; [|discriminate].
  destruct (box_of (snd g)) eqn:E3; [|discriminate]. intros [= <-].
  split; [now apply boxes_of_sound|]. split; [now apply boxes_of_sound|now apply box_of_sound].
Qed.
Definition image (Gs : list bgate) (row h c : list box) : option (list box * list box) :=
  match mapM (fun G => sum_box (combine row (fst (fst G)) ++ combine h (snd (fst G)) ++
                               [(snd G, one_box)])) Gs with None => None | Some y =>
  match mapM sigmoid_box (firstn n y), mapM sigmoid_box (firstn n (skipn n y)),
    mapM tanh_box (firstn n (skipn (2 * n) y)), mapM sigmoid_box (skipn (3 * n) y) with
  | Some si, Some sf, Some tg, Some so =>
      match mapM (fun k => sum_box [(nth k sf zero_box, nth k c zero_box);
                                    (nth k si zero_box, nth k tg zero_box)]) (seq 0 n) with
      | None => None | Some c' =>
      match mapM tanh_box c' with None => None | Some tc =>
      match mapM (fun k => sum_box [(nth k so zero_box, nth k tc zero_box)]) (seq 0 n) with
      | None => None | Some h' => Some (h', c') end end end
  | _, _, _, _ => None end end.
(* the row of a letter, from that of the table *)
Definition hot_box (a : nat) : list box :=
  map (fun i => if (i =? a)%nat then one_box else zero_box) (seq 0 (LRows z)).
Lemma hot_sound a : inv (hot_box a) (one_hot z a).
Proof.
  unfold hot_box, one_hot, inv. generalize (seq 0 (LRows z)). intros l.
  induction l as [|i l IH]; cbn; constructor; [|exact IH].
  destruct (i =? a)%nat; [apply inb_one|apply inb_zero].
Qed.
Lemma image_sound Gs W row a H h C c H' C' h' c' : Forall2 ing Gs (gates z ts) ->
  Forall2 inv W (table z ts) -> times_box (hot_box a) W = Some row -> inv H h -> inv C c -> image
    Gs row H C = Some (H', C') ->
  cell z ts sg th a h c h' c' -> inv H' h' /\ inv C' c'.
Proof.
  intros HG HW HB HH HC E
    [x [y [si [sf [tg [so [tc [Hx [Hy [Hsi [Hsf [Htg [Hso [Hc [Htc Hh]]]]]]]]]]]]]]].
  assert (HR : inv row x) by (eapply times_sound; [apply hot_sound|exact HW|exact HB|exact Hx]).
  unfold image in E. destruct (mapM _ Gs) as [Y|] eqn:EY; [|discriminate].
  assert (IY : inv Y y).
  { eapply each_sum_sound; [|exact EY|exact Hy]. clear -HG HR HH.
    induction HG as [|G g Gs gs [I1 [I2 I3]] HG IH]; constructor; auto. unfold pairs.
    apply Forall2_app; [now apply Forall2_combine|]. apply Forall2_app;
      [now apply Forall2_combine|]. constructor; [|constructor]. split; [exact I3|apply inb_one].
        }
  destruct (mapM sigmoid_box (firstn n Y)) as [Si|] eqn:E1; [|discriminate].
  destruct (mapM sigmoid_box (firstn n (skipn n Y))) as [Sf|] eqn:E2; [|discriminate].
  destruct (mapM tanh_box (firstn n (skipn (2 * n) Y))) as [Tg|] eqn:E3; [|discriminate].
  destruct (mapM sigmoid_box (skipn (3 * n) Y)) as [So|] eqn:E4; [|discriminate].
  destruct (mapM _ (seq 0 n)) as [C1|] eqn:E5; [|discriminate].
  destruct (mapM tanh_box C1) as [Tc|] eqn:E6; [|discriminate].
  destruct (mapM _ (seq 0 n)) as [H1|] eqn:E7 in E; [|discriminate]. injection E as <- <-.
  pose proof (fun b d u v => sigmoid_box_sound sg b d u v near_sg) as SS.
  pose proof (fun b d u v => tanh_box_sound th b d u v near_th) as ST.
  pose proof (each_box _ _ _ _ _ _ SS (inv_firstn n _ _ IY) E1 Hsi) as I1.
  pose proof (each_box _ _ _ _ _ _ SS (inv_firstn n _ _ (inv_skipn n _ _ IY)) E2 Hsf) as I2.
  pose proof (each_box _ _ _ _ _ _ ST (inv_firstn n _ _ (inv_skipn (2 * n) _ _ IY)) E3 Htg) as I3.
  pose proof (each_box _ _ _ _ _ _ SS (inv_skipn (3 * n) _ _ IY) E4 Hso) as I4.
  assert (I5 : inv C1 c').
  { eapply each_sum_sound; [|exact E5|exact Hc]. apply Forall2_same. intros k.
    apply Forall2_cons; [split; now apply inv_at|]. apply Forall2_cons; [split; now apply
      inv_at|].
    apply Forall2_nil. }
  pose proof (each_box _ _ _ _ _ _ ST I5 E6 Htc) as I6. split; [|exact I5].
  eapply each_sum_sound; [|exact E7|exact Hh]. apply Forall2_same. intros k.
  apply Forall2_cons; [split; now apply inv_at|apply Forall2_nil].
Qed.
Lemma total_each (g : f32 -> f32 -> Prop) x : (forall u, exists v, g u v) ->
  exists y, Forall2 g x y.
Proof.
  intros H. induction x as [|u x [y IH]]; [exists []; constructor|]. destruct (H u) as [v Hv].
  exists (v :: y). now constructor.
Qed.
Lemma cell_exists a h c : exists h' c', cell z ts sg th a h c h' c'.
Proof.
  destruct near_sg as [TS _], near_th as [TT _].
  set (x := map (fun column => one_sum (combine (one_hot z a) column)) (table z ts)).
  set (y := map (fun g => one_sum (combine x (fst (fst g)) ++
    combine h (snd (fst g)) ++ [(snd g, one)])) (gates z ts)).
  destruct (total_each sg (firstn n y) TS) as [si Hsi].
  destruct (total_each sg (firstn n (skipn n y)) TS) as [sf Hsf].
  destruct (total_each th (firstn n (skipn (2 * n) y)) TT) as [tg Htg].
  destruct (total_each sg (skipn (3 * n) y) TS) as [so Hso].
  set (c' := map (fun k => one_sum [(at_channel k sf, at_channel k c);
    (at_channel k si, at_channel k tg)]) (seq 0 n)).
  destruct (total_each th c' TT) as [tc Htc].
  exists (map (fun k => one_sum [(at_channel k so, at_channel k tc)]) (seq 0 n)), c'.
  exists x, y, si, sf, tg, so, tc. repeat (split; [first [exact (each_one _ _)|assumption]|]).
  exact (each_one _ _).
Qed.
Lemma after_exists w : exists h c, after z ts sg th w h c.
Proof.
  induction w as [|a w IH] using rev_ind; [eexists; eexists; constructor|].
  destruct IH as [h [c IH]]. destruct (cell_exists a h c) as [h' [c' H]].
  exists h', c'. econstructor; eauto.
Qed.
End Step.

(* ---------- all boxes ---------- *)
(* a state of the automaton, boxes of both halves of the state, and the box after each letter *)
Record region := { Stands : nat; Shown : list box; Held : list box; Follows : list nat }.
Definition no_region : region := {| Stands := O; Shown := []; Held := []; Follows := [] |}.
Section Closed.
Variables (z : lsizes) (ts : list tensor) (d : automaton) (rs : list region).
Definition at_region (i : nat) : region := nth i rs no_region.
Definition maps_to (Gs : list (list box * list box * box)) (W : list (list box)) (r : region)
  (a : nat) : bool :=
  let f := nth a (Follows r) O in let t := at_region f in
  (0 <? f)%nat && (f <? length rs)%nat && (Stands t =? follow d (Stands r) a)%nat &&
  match times_box (hot_box z a) W with None => false | Some row =>
  match image z Gs row (Shown r) (Held r) with None => false | Some (h, c) =>
    subs h (Shown t) && subs c (Held t) end end.
Definition contracts : bool :=
  let first := at_region 0 in let zeros := repeat zero_box (LUnits z) in
  (0 <? length rs)%nat && (Stands first =? First d)%nat && subs zeros (Shown first) &&
  subs zeros (Held first) && is_complete d && (Letters d <=? LRows z)%nat &&
  match mapM box_gate (gates z ts), box_affine (read_out z ts), all_boxes (table z ts) with
  | Some Gs, Some U, Some W =>
      forallb (fun r => class_reads (length (Table d)) U (Shown r) (Stands r)) (tl rs) &&
      forallb (fun r => forallb (maps_to Gs W r) (seq 0 (Letters d))) rs
  | _, _, _ => false end.
Lemma zeros_in k : inv (repeat zero_box k) (repeat zero k).
Proof. induction k; cbn; constructor; auto. apply inb_zero. Qed.
Theorem contracts_sound sg th : contracts = true -> is_near sigmoid sg -> is_near hyperbolic th ->
  is_complete d = true /\ (Letters d <= LRows z)%nat /\
  forall w a, is_word_of d (w ++ [a]) ->
  (exists y, logits_after z ts sg th (w ++ [a]) y) /\
  forall y, logits_after z ts sg th (w ++ [a]) y -> answers d y (w ++ [a]).
Proof.
  intros H NS NT. unfold contracts in H. cbv zeta in H.
  destruct (mapM box_gate (gates z ts)) as [Gs|] eqn:EG; [|now rewrite andb_false_r in H].
  destruct (box_affine (read_out z ts)) as [U|] eqn:EU; [|now rewrite andb_false_r in H].
  destruct (all_boxes (table z ts)) as [W|] eqn:EW; [|now rewrite andb_false_r in H].
  apply all_boxes_sound in EW. apply andb_prop in H as [H H7]. apply andb_prop in H7 as [H7 H8].
  apply andb_prop in H as [H H6]. apply andb_prop in H as [H H5]. apply andb_prop in H as [H H4].
  apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
  apply Nat.ltb_lt in H1. apply Nat.eqb_eq in H2. apply Nat.leb_le in H6.
  rewrite forallb_forall in H7, H8. split; [exact H5|]. split; [exact H6|].
  pose proof (mapM_sound _ ing _ _ box_gate_sound EG) as IG. apply box_affine_sound in EU.
  assert (Main : forall w h c, after z ts sg th w h c -> is_word_of d w -> exists i,
    (i < length rs)%nat /\ Stands (at_region i) = run d w /\ inv (Shown (at_region i)) h /\
    inv (Held (at_region i)) c /\ (w = [] \/ (0 < i)%nat)).
  { intros w h c A. induction A as [|w h c a h' c' A IH HC]; intros HW.
    - exists O. split; [exact H1|]. split; [exact H2|].
      split; [eapply subs_sound; [exact H3|apply zeros_in]|].
      split; [eapply subs_sound; [exact H4|apply zeros_in]|now left].
    - unfold is_word_of in HW. apply Forall_app in HW as [HW HA].
      destruct (IH HW) as [i [Hi [Q [IHh [IHc _]]]]]. inversion HA as [|? ? La _]; subst.
      pose proof (H8 _ (nth_In _ no_region Hi)) as M. rewrite forallb_forall in M.
      specialize (M a ltac:(apply in_seq; lia)). fold (at_region i) in M. unfold maps_to in M.
      cbv zeta in M. set (f := nth a (Follows (at_region i)) O) in *.
      apply andb_prop in M as [M M4]. apply andb_prop in M as [M M3].
      apply andb_prop in M as [M1 M2]. apply Nat.ltb_lt in M1, M2. apply Nat.eqb_eq in M3.
      destruct (times_box (hot_box z a) W) as [row|] eqn:ER; [|discriminate].
      destruct (image _ _ _ _ _) as [[bh bc]|] eqn:EI; [|discriminate].
      apply andb_prop in M4 as [M4 M5].
      destruct (image_sound z ts sg th NS NT Gs W row a _ h _ c bh bc h' c' IG EW ER IHh IHc EI
        HC) as [J1 J2].
      exists f. split; [exact M2|]. split.
      { unfold run. rewrite fold_left_app. cbn [fold_left]. fold (run d w). rewrite <- Q.
        exact M3. }
      split; [eapply subs_sound; eauto|]. split; [eapply subs_sound; eauto|now right]. }
  intros w a HW. split.
  - destruct (after_exists z ts sg th NS NT (w ++ [a])) as [h [c A]]. eexists. exists h, c.
    split; [exact A|exact (each_one _ _)].
  - intros y [h [c [A HY]]]. destruct (Main _ _ _ A HW) as [i [Hi [Q [Ih [_ [E|P]]]]]];
      [now destruct w|].
    assert (IN : In (at_region i) (tl rs)).
    { unfold at_region. destruct rs as [|r rs']; [cbn in Hi; lia|]. destruct i as [|i]; [lia|].
      cbn [tl nth]. apply nth_In. cbn in Hi. lia. }
    specialize (H7 _ IN). unfold answers. rewrite <- Q.
    eapply class_reads_sound; [exact EU|exact H7|exact Ih|exact HY].
Qed.
End Closed.
(* ---------- the certificate ---------- *)
Definition lstm_answers (z : lsizes) (ts : list tensor) (d : automaton) (rs : list region)
  : bool := has_tensors (lstm_labels z) ts && contracts z ts d rs.
Theorem by_boxes hash names z ts d rs : lstm_answers z ts d rs = true ->
  sha256 (described "LSTM" names run_mark ts) = hash -> lstm_is_right hash names z ts d.
Proof.
  unfold lstm_answers. intros H E. apply andb_prop in H as [H1 H2].
  split; [now apply has_tensors_ok|].
  pose proof H2 as H3. unfold contracts in H3.
  assert (C : is_complete d = true /\ (Letters d <= LRows z)%nat).
  { cbv zeta in H3. apply andb_prop in H3 as [H3 _]. apply andb_prop in H3 as [H3 H6].
    apply andb_prop in H3 as [_ H5]. apply Nat.leb_le in H6. auto. }
  destruct C as [C1 C2]. split; [exact C1|]. split; [exact C2|].
  intros sg th NS NT. exact (proj2 (proj2 (contracts_sound z ts d rs sg th H2 NS NT))).
Qed.

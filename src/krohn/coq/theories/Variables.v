(* Numbers as their own variables: hidden units as linear forms of the numbers before them, so that
   an error that two units share cancels where their weights do. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms
  Counting.
Import ListNotations.
Local Open Scope Z_scope.

Notation grains := 65536.       (* a variable is a multiple of 2^-24, so that coefficients may be
   fractions *)
Definition floors (y : vec) (c : nat) : Z := Zfloor (at40 (B2R (at_channel c y)) / IZR grains).
Definition variable (c : nat) : form := {| Coefs := only c grains; Low := 0; High := grains |}.
Definition spread (B : list box) : nat -> Z * Z :=
  let l := map (fun b => (fst b / grains, snd b / grains)) B in fun c => nth c l (0, 0).
Lemma spread_at B c :
  spread B c = (fst (nth c B zero_box) / grains, snd (nth c B zero_box) / grains).
Proof. exact (map_nth (fun b => (fst b / grains, snd b / grains)) B zero_box c). Qed.
Lemma floor_around x : (IZR (grains * Zfloor (x / IZR grains)) <= x < IZR (grains + grains *
  Zfloor (x / IZR grains)))%R.
Proof.
  pose proof (Zfloor_lb (x / IZR grains)). pose proof (Zfloor_ub (x / IZR grains)).
  assert (E : (x = IZR grains * (x / IZR grains))%R) by (field; apply not_0_IZR; lia).
  revert H H0 E. generalize (x / IZR grains)%R as q. intros q A B ->. rewrite plus_IZR, mult_IZR.
  lra.
Qed.
Lemma variable_sound y c : is_finite (at_channel c y) = true -> inf (variable c) (floors y)
  (at_channel c y).
Proof.
  intros F. split; [exact F|]. cbn [variable Coefs Low High]. rewrite dot_only, Z.add_0_l.
  pose proof (floor_around (at40 (B2R (at_channel c y)))) as [A B]. split; [exact A|left; exact B].
Qed.
Lemma floors_within B y : inv B y -> within (spread B) (floors y).
Proof.
  intros H c. rewrite spread_at. unfold floors.
  destruct (inv_at B y c H) as [_ [L U]]. cbn [fst snd].
  set (b := nth c B zero_box) in *. set (x := at40 (B2R (at_channel c y))) in *.
  pose proof (floor_around x) as [A1 A2]. set (z := Zfloor (x / IZR grains)) in *. clearbody z.
  assert (L' : fst b < grains + grains * z) by (apply lt_IZR; lra).
  assert (U' : grains * z <= snd b) by (apply le_IZR; lra).
  split; [|apply Z.div_le_lower_bound; lia].
  assert (fst b / grains < z + 1) by (apply Z.div_lt_upper_bound; lia). lia.
Qed.
Definition relu_form (span : nat -> Z * Z) (F : form) : form :=
  let b := form_box F span in if 0 <=? fst b then F else constant (relu_box b).
Lemma relu_form_sound span n F x : within span n -> inf F n x ->
  inf (relu_form span F) n (rectified x).
Proof.
  intros HW HF. pose proof (form_box_sound F span n x HW HF) as I. unfold relu_form. cbv zeta.
  set (b := form_box F span) in *. destruct (Z.leb_spec 0 (fst b)) as [C|C].
  - replace (rectified x) with x; [exact HF|]. unfold rectified, smaller. destruct I as [Fx [L _]].
    rewrite Bltb_correct by (auto; reflexivity). rewrite Rlt_bool_false; [reflexivity|].
    apply IZR_le in C. unfold at40 in L. pose proof grid_pos. cbn [B2R zero]. nra.
  - apply constant_sound. assert (H : inv (map relu_box [b]) (map rectified [x])).
    { apply relu_sound. constructor; [exact I|constructor]. }
    inversion H. assumption.
Qed.
Definition biased_terms (Fs : list form) (C : list box) (b : box) : list (form * box) :=
  combine Fs C ++ [(constant b, one_box)].
Lemma biased_sound span n Fs x C c b bv F r : within span n -> infs Fs n x -> inv C c ->
  inb b bv ->
  form_sum span (biased_terms Fs C b) = Some F -> sums (combine x c ++ [(bv, one)]) r -> inf F n r.
Proof.
  intros HW HF HC Hb E HS. eapply form_sum_sound; [exact HW| |exact E|exact HS].
  unfold biased_terms.
  apply Forall2_app; [|constructor; [split; [now apply constant_sound|apply inb_one]|constructor]].
  exact (Forall2_combine (fun F y => inf F n y) inb _ _ _ _ HF HC).
Qed.
(* hidden units under a span *)
Definition unit_forms (span : nat -> Z * Z) (Ys : list form) (W : list (list box) * list box) :
  option (list form) :=
  mapM (fun Cb => option_map (relu_form span) (form_sum span (biased_terms Ys (fst Cb) (snd Cb))))
       (combine (fst W) (snd W)).
Lemma unit_forms_sound span n Ys y W w Us z : within span n -> infs Ys n y -> inw W w ->
  unit_forms span Ys W = Some Us -> with_bias y w z -> infs Us n (map rectified z).
Proof.
  intros HW HY [IW IB] E HZ. unfold unit_forms in E. apply mapM_some in E.
  unfold with_bias, each_sum in HZ.
  pose proof (Forall2_combine _ _ _ _ _ _ IW IB) as IC. unfold infs. revert Us E z HZ.
  induction IC as [|Cb cb Cs cs [H1 H2] IC IH]; intros Us E z HZ; inversion HZ; subst;
    inversion E; subst;
    cbn [map]; constructor; auto.
  destruct (form_sum span (biased_terms Ys (fst Cb) (snd Cb))) as [F|] eqn:EF; [|discriminate].
  match goal with H : option_map _ _ = Some _ |- _ => injection H as <- end.
  apply relu_form_sound; [exact HW|]. eapply biased_sound; eauto.
Qed.
Lemma variables_sound B y : inv B y -> infs (map variable (seq 0 (length B))) (floors y) y.
Proof.
  intros H. assert (G : forall c, (c < length B)%nat -> inf (variable c) (floors y) (at_channel c
    y)).
  { intros c Hc. apply variable_sound. apply (inv_at B y c H). }
  pose proof (Forall2_len _ _ _ H) as L. revert G. rewrite L. clear. generalize (floors y) as n.
  intros n G.
  assert (K : forall z a, (forall c, (c < length z)%nat -> inf (variable (a + c)) n (at_channel c
    z)) ->
            Forall2 (fun f v => inf f n v) (map variable (seq a (length z))) z).
  { induction z as [|x z IH]; intros a HG; cbn; constructor.
    - specialize (HG O ltac:(cbn; lia)). rewrite Nat.add_0_r in HG. exact HG.
    - apply IH. intros c Hc. specialize (HG (S c) ltac:(cbn; lia)).
      replace (S a + c)%nat with (a + S c)%nat by lia. exact HG. }
  apply K. intros c Hc. now apply G.
Qed.

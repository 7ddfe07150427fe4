(* The whole check of a Transformer that is not a scan, and the theorem that it is enough.
   The machine of classes and residues of all layers is followed along words beside the automaton:
   the pairs that words reach are a finite list, which each letter must map into itself.  Boxes of
   each class are computed layer by layer, and in those of a final class the right logit must lead.
   Here is also that a run exists, and an exp as assumed, so that the claim is not empty. *)
From Coq Require Import ZArith List Bool Lia Reals Lra FMapPositive.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms
  Counting Copying Layers Matching.
Import ListNotations.
Open Scope Z_scope.

(* ---------- a result exists ---------- *)
Definition one_sum (l : list (f32 * f32)) : f32 := fold_right (fun p a =>
  Bfma mode_NE (fst p) (snd p) a) zero l.
Lemma one_sum_is l : sums l (one_sum l). Proof. induction l as [|[x y] l IH]; cbn;
  [constructor|now constructor]. Qed.
Lemma each_one {A} (f : A -> list (f32 * f32)) l : each_sum f l (map (fun a => one_sum (f a)) l).
Proof. unfold each_sum. induction l; cbn; constructor; auto using one_sum_is. Qed.
Fixpoint mlp_result (ws : list (matrix * vec)) (x : vec) : vec :=
  match ws with
  | [] => x
  | w :: ws => let z := map (fun cb => one_sum (combine x (fst cb) ++ [(snd cb, one)])) (combine
    (fst w) (snd w)) in
               match ws with [] => z | _ => mlp_result ws (map rectified z) end
  end.
Lemma mlp_result_is ws : forall x, mlp ws x (mlp_result ws x).
Proof. induction ws as [|w ws IH]; intros x; cbn [mlp mlp_result]; [reflexivity|].
destruct ws; [apply each_one|]. eexists. split; [apply each_one|apply IH]. Qed.
Lemma smaller_trans x y z : smaller x y = true -> smaller y z = true -> smaller x z = true.
Proof.
  destruct (is_finite x && is_finite y && is_finite z) eqn:F.
  - apply andb_prop in F as [F Fz]. apply andb_prop in F as [Fx Fy]. unfold smaller.
    rewrite !Bltb_correct by assumption. intros A B.
    apply Rlt_bool_true. destruct (Rlt_bool_spec (B2R x) (B2R y)); [|discriminate].
    destruct (Rlt_bool_spec (B2R y) (B2R z)); [|discriminate]. lra.
  - unfold smaller, Bltb, SpecFloat.SFltb. destruct x as [[]|[]| |[] ? ? ?], y as [[]|[]| |[] ? ?
      ?]; cbn in *; try discriminate; intros A B;
    destruct z as [[]|[]| |[] ? ? ?]; cbn in *; try discriminate; reflexivity.
Qed.
Lemma smaller_self x : smaller x x = false.
Proof. destruct (smaller x x) eqn:E; auto. destruct (is_finite x) eqn:F; [unfold smaller in E;
  rewrite Bltb_correct in E by assumption; destruct (Rlt_bool_spec (B2R x) (B2R x));
  [lra|discriminate]|]. destruct x as [| [] | |]; discriminate. Qed.
Fixpoint largest_to (s : nat -> f32) (t : nat) : f32 := match t with O => s O | S k => let m :=
  largest_to s k in if smaller m (s t) then s t else m end.
Lemma largest_to_is s t : (exists i, (i <= t)%nat /\ s i = largest_to s t) /\
  forall i, (i <= t)%nat -> smaller (largest_to s t) (s i) = false.
Proof.
  induction t as [|t [[i [Hi E]] IH]]; cbn [largest_to].
  - split; [exists O; auto|]. intros i Hi. replace i with O by lia. apply smaller_self.
  - destruct (smaller (largest_to s t) (s (S t))) eqn:C.
    + split; [exists (S t); auto|]. intros j Hj. destruct (Nat.eq_dec j (S t)) as [->|];
        [apply smaller_self|].
      destruct (smaller (s (S t)) (s j)) eqn:D; auto. rewrite <- (IH j ltac:(lia)). symmetry.
      eauto using smaller_trans.
    + split; [exists i; split; [lia|exact E]|]. intros j Hj.
      destruct (Nat.eq_dec j (S t)) as [->|]; [exact C|apply IH; lia].
Qed.
(* One run, as functions: each sum from the right, fused; what each position has is computed once.
   *)
Definition tabulated {A} (d : A) (n : nat) (f : nat -> A) : nat -> A := let l :=
  map f (seq 0 n) in fun i => nth i l d.
Lemma tabulated_is {A} (d : A) n f i : (i < n)%nat -> tabulated d n f i = f i.
Proof. intros H. unfold tabulated. rewrite nth_indep with (d' := f O) by (rewrite map_length,
  seq_length; exact H). rewrite map_nth, seq_nth by exact H. reflexivity. Qed.
Section Run.
Variables (E : f32 -> f32 -> Prop) (ex : f32 -> f32) (n : nat).
Hypothesis ex_in : forall x, E x (ex x).
Definition exp_at (t : nat) (m : f32) (s : nat -> f32) (i : nat) : f32 :=
  if (i <=? t)%nat then ex (Bminus mode_NE (s i) m) else zero.
Definition projected (w : matrix) (xs : stream) : stream := tabulated [] n (fun i => map (fun c =>
  one_sum (combine (xs i) c)) w).
Definition head_result (h : thead) (xs : stream) : stream :=
  let q := projected (WQ h) xs in let k := projected (WK h) xs in let v := projected (WV h) xs in
  projected (WC h) (tabulated [] n (fun t =>
    let s := tabulated zero n (fun i => one_sum (combine (q t) (k i))) in let m :=
      largest_to s t in
    let total := one_sum (map (fun i => (exp_at t m s i, one)) (seq 0 n)) in
    map (fun c => one_sum (map (fun i => (Bdiv mode_NE (exp_at t m s i) total, at_channel c (v
      i))) (seq 0 n))) (seq 0 (length (WV h))))).
Definition layer_result (l : tlayer) (xs : stream) : stream :=
  let hs := map (fun h => head_result h xs) (Heads l) in
  tabulated [] n (fun t =>
    let y := map (fun c => one_sum ((at_channel c (xs t), at_channel c (KeepAttention l)) :: map
      (fun h => (at_channel c (h t), one)) hs))
                 (seq 0 (length (KeepAttention l))) in
    let z := mlp_result (Mlps l) y in
    map (fun c => one_sum [(at_channel c y, at_channel c (KeepMlp l)); (at_channel c z,
      one)]) (seq 0 (length (KeepMlp l)))).
Lemma projected_is w xs i : (i < n)%nat -> times (xs i) w (projected w xs i).
Proof. intros H. unfold projected. rewrite tabulated_is by exact H. apply each_one. Qed.
Lemma head_result_is h xs : head_on E n h xs (head_result h xs).
Proof.
  exists (projected (WQ h) xs), (projected (WK h) xs), (projected (WV h) xs).
  split; [intros; repeat split; now apply projected_is|]. intros t Ht.
  set (s := tabulated zero n (fun i => one_sum (combine (projected (WQ h) xs t) (projected (WK h)
    xs i)))).
  set (m := largest_to s t). set (total := one_sum (map (fun i => (exp_at t m s i, one)) (seq 0
    n))).
  exists s, (fun i => Bdiv mode_NE (exp_at t m s i) total). eexists. split; [intros i Hi;
    unfold s; rewrite tabulated_is by exact Hi; apply one_sum_is|].
  split; [|split; [apply each_one|]].
  - exists m, total, (exp_at t m s). destruct (largest_to_is s t) as [A B]. split; [exact A|].
    split; [exact B|].
    split; [|split; [apply one_sum_is|intros; now left]].
    intros i. unfold exponential, exp_at. destruct (i <=? t)%nat; [apply ex_in|reflexivity].
  - unfold head_result. cbv zeta. pose proof (projected_is (WC h) (tabulated [] n (fun t =>
      let s := tabulated zero n (fun i => one_sum (combine (projected (WQ h) xs t) (projected (WK
        h) xs i))) in let m := largest_to s t in
      let total := one_sum (map (fun i => (exp_at t m s i, one)) (seq 0 n)) in
      map (fun c => one_sum (map (fun i => (Bdiv mode_NE (exp_at t m s i) total, at_channel c
        (projected (WV h) xs i))) (seq 0 n))) (seq 0 (length (WV h))))) t Ht) as R.
    rewrite tabulated_is in R by exact Ht. exact R.
Qed.
Lemma layer_result_is l xs : layer_on E n l xs (layer_result l xs).
Proof.
  exists (map (fun h => head_result h xs) (Heads l)). split; [induction (Heads l); cbn;
    constructor; auto using head_result_is|].
  intros t Ht. unfold layer_result. cbv zeta. rewrite tabulated_is by exact Ht. eexists. eexists.
  split; [exact (each_one _ _)|]. split; [exact (mlp_result_is _ _)|exact (each_one _ _)].
Qed.
Lemma layers_result_is ls : forall xs, layers_on E n ls xs (fold_left (fun x l =>
  layer_result l x) ls xs).
Proof. induction ls as [|l ls IH]; intros xs; cbn [layers_on fold_left]; [reflexivity|].
exists (layer_result l xs). split; [apply layer_result_is|apply IH]. Qed.
End Run.
Definition first_result (tr : transformer) (w : list nat) (i : nat) : vec :=
  map (fun c => one_sum [(at_channel c (symbol tr w i), one); (at_channel c (nth i (Places tr)
    []), one)]) (seq 0 (length (nth i (Places tr) []))).
Definition forward_result (ex : f32 -> f32) (tr : transformer) (w : list nat) : stream :=
  let tau := length (Padding tr) in
  let ys := fold_left (fun x l => layer_result ex (tau + length w) l x) (TLayers tr) (first_result
    tr w) in
  fun t => map (fun cb => one_sum (combine (ys (tau + t)%nat) (fst cb) ++ [(snd cb,
    one)])) (combine (fst (Unembed tr)) (snd (Unembed tr))).
Theorem forward_exists E tr w : is_exp E -> exists ys, forward E tr w ys.
Proof.
  intros [[ex ex_in] _]. exists (forward_result ex tr w), (first_result tr w). eexists.
  split; [intros; exact (each_one _ _)|].
  split; [apply layers_result_is, ex_in|]. intros; exact (each_one _ _).
Qed.

(* An exp as assumed exists: the real one, rounded. *)
Definition nearest (x : R) : f32 :=
  let r := rnd x in binary_normalize 24 128 prec24 prec24_128 mode_NE (Ztrunc (scaled_mantissa
    radix2 (SpecFloat.fexp 24 128) r)) (cexp radix2 (SpecFloat.fexp 24 128) r) false.
Lemma nearest_is x : (-1 <= x <= 1)%R -> is_finite (nearest x) = true /\ B2R (nearest x) = rnd x.
Proof.
  intros H. assert (GF : generic_format radix2 (SpecFloat.fexp 24 128) (rnd x)) by (apply
    generic_format_round; [apply fexp_correct; reflexivity|apply valid_rnd_N]).
  pose proof (binary_normalize_correct 24 128 prec24 prec24_128 mode_NE (Ztrunc (scaled_mantissa
    radix2 (SpecFloat.fexp 24 128) (rnd x))) (cexp radix2 (SpecFloat.fexp 24 128) (rnd x)) false)
    as C.
  cbv zeta in C. unfold generic_format in GF. rewrite <- GF in C.
  rewrite round_generic in C by (try apply valid_rnd_N; unfold generic_format; exact GF).
  assert (S : (Rabs (rnd x) < bpow radix2 128)%R).
  { destruct (rnd_any x) as [d [e [Hd [He ->]]]]. pose proof u_pos. assert (u < 1)%R by (unfold u;
      apply (bpow_lt radix2 _ 0); lia).
    assert (eta < 1)%R by (unfold eta; apply (bpow_lt radix2 _ 0); lia).
    apply Rabs_le_inv in Hd, He.
    apply Rlt_le_trans with (bpow radix2 3); [|apply bpow_le; lia].
    change (bpow radix2 3) with 8%R. apply Rabs_lt. split; nra. }
  rewrite Rlt_bool_true in C by exact S. destruct C as [C1 [C2 _]]. split; [exact C2|exact C1].
Qed.
Theorem an_exp_exists : exists ex, is_exp ex.
Proof.
  set (ex := fun x : f32 => if Req_EM_T (B2R x) 0 then one else nearest (exp (B2R x))).
  exists (fun x y => ex x = y).
  split; [now exists ex|]. intros x y <- F H. unfold ex. destruct one_is as [F1 R1].
  destruct (Req_EM_T (B2R x) 0) as [E|E].
  - split; [exact F1|]. split; [reflexivity|]. rewrite E, exp_0, R1, Rminus_eq_0, Rabs_R0.
    pose proof (bpow_gt_0 radix2 (-23)). pose proof (bpow_gt_0 radix2 (-126)). lra.
  - pose proof (exp_pos (B2R x)). assert (exp (B2R x) < 1)%R by (rewrite <- exp_0;
      apply exp_increasing; lra).
    destruct (nearest_is (exp (B2R x)) ltac:(lra)) as [N1 N2]. split; [exact N1|].
    split; [intros; contradiction|]. rewrite N2.
    destruct (rnd_any (exp (B2R x))) as [d [e [Hd [He ->]]]]. apply Rabs_le_inv in Hd, He.
    pose proof u_pos.
    assert (u <= bpow radix2 (-23))%R by (unfold u; apply bpow_le; lia).
    assert (eta <= bpow radix2 (-126))%R by (unfold eta; apply bpow_le; lia).
    set (y := exp (B2R x)) in *. apply Rabs_le. split; nra.
Qed.

(* ---------- the read-out: by differences of logits, so that what both have in common does not
   count ---------- *)
Definition minus_boxes (A C : list box) : list box := map (fun p => (fst (fst p) - snd (snd p),
  snd (fst p) - fst (snd p))) (combine A C).
Definition terms_box (B : list box) (Cb : list box * box) : list (box * box) :=
  combine B (fst Cb) ++ [(snd Cb, one_box)].
Definition error_of (l : list (box * box)) : option Z :=
  let '(lo, hi, s) := box_tot l 0 0 0 in let n := Z.of_nat (nonzero l) in
  if has_bound n s then Some (rounding_to n s (top_of lo hi s)) else None.
Definition leads_by (B : list box) (Q J : list box * box) : bool :=
  (length (fst Q) =? length B)%nat && (length (fst J) =? length B)%nat &&
  match error_of (terms_box B Q), error_of (terms_box B J) with
  | Some r, Some s => let '(lo, _, _) := box_tot (combine (B ++ [one_box]) (minus_boxes (fst Q ++
    [snd Q]) (fst J ++ [snd J]))) 0 0 0 in r + s <? lo
  | _, _ => false end.
Lemma error_of_sound bs l r e : pairs bs l -> error_of bs = Some e -> sums l r ->
  is_finite r = true /\ (Rabs (at80 (B2R r) - at80 (tot l)) <= IZR e)%R.
Proof.
  intros HP E HS. unfold error_of in E. destruct (box_tot bs 0 0 0) as [[lo hi] s] eqn:T.
  destruct has_bound eqn:C; [|discriminate]. apply some_inj in E. subst e.
  destruct (box_tot_sound l bs 0 0 0 lo hi s 0 0 HP T) as [B1 B2]; [unfold at80; lra|unfold at80;
    lra|]. rewrite Rplus_0_l in B1, B2.
  refine (sum_error_to _ l r s _ HS _ (nonzero_sound bs l HP) B2 (top_of_sound l lo hi s B1 B2) C).
  clear -HP. unfold all_finite.
  induction HP; constructor; auto. destruct H as [[H1 _] [H2 _]]. auto.
Qed.
Lemma difference_sound B x : inv B x -> forall A a C c lo hi s lo' hi' s' t, inv A a -> inv C c ->
  length A = length B -> length C = length B ->
  box_tot (combine B (minus_boxes A C)) lo hi s = (lo', hi', s') -> (IZR lo <= at80 t)%R ->
    (IZR lo' <= at80 (t + tot (combine x a) - tot (combine x c)))%R.
Proof.
  intros H. induction H as [|b y B x Hb HB IH]; intros A a C c lo hi s lo' hi' s' t HA HC LA LC E
    Ht; destruct HA as [|ab av A a Ha HA]; destruct HC as [|cb cv C c Hc HC]; try discriminate.
  - injection E as <- <- <-. cbn. replace (t + 0 - 0)%R with t by ring. exact Ht.
  - cbn [combine minus_boxes map box_tot fst snd] in E. destruct (box_mul b (fst ab - snd cb,
      snd ab - fst cb)) as [p q] eqn:M.
    assert (P : (IZR p <= at40 (B2R y) * (at40 (B2R av) - at40 (B2R cv)) <= IZR q)%R).
    { destruct Hb as [_ Hb], Ha as [_ Ha], Hc as [_ Hc]. eapply box_mul_sound;
        [exact Hb| |exact M]. cbn [fst snd]. rewrite !minus_IZR. lra. }
    cbn in LA, LC. pose proof (IH A a C c _ _ _ _ _ _ (t + B2R y * B2R av - B2R y * B2R cv)%R HA
      HC ltac:(lia) ltac:(lia) E) as G.
    cbn [combine tot fold_right fst snd]. fold (tot (combine x a)) (tot (combine x c)).
    replace (t + (B2R y * B2R av + tot (combine x a)) - (B2R y * B2R cv + tot (combine x c)))%R
      with (t + B2R y * B2R av - B2R y * B2R cv + tot (combine x a) - tot (combine x c))%R by ring.
    apply G. rewrite plus_IZR. replace (at80 (t + B2R y * B2R av - B2R y * B2R cv)) with (at80 t +
      at40 (B2R y) * (at40 (B2R av) - at40 (B2R cv)))%R by (unfold at80, at40; ring). lra.
Qed.
Lemma combine_end (x c : vec) (y b : f32) : length c = length x -> combine (x ++ [y]) (c ++ [b]) =
  combine x c ++ [(y, b)].
Proof. revert c. induction x as [|a x IH]; intros [|d c] L; try discriminate; cbn; [reflexivity|].
rewrite IH; auto. Qed.
Lemma leads_by_sound B Q J x cq cj bq bj yq yj : leads_by B Q J = true -> inv B x ->
  inv (fst Q) cq -> inb (snd Q) bq -> inv (fst J) cj -> inb (snd J) bj ->
  sums (combine x cq ++ [(bq, one)]) yq -> sums (combine x cj ++ [(bj, one)]) yj ->
    smaller yj yq = true.
Proof.
  unfold leads_by. intros H HB HQ Hbq HJ Hbj SQ SJ. apply andb_prop in H as [H H3].
  apply andb_prop in H as [H1 H2]. apply Nat.eqb_eq in H1, H2.
  assert (PT : forall R c b, inv (fst R) c -> inb (snd R) b -> pairs (terms_box B R) (combine x c
    ++ [(b, one)])).
  { intros R c b HR Hb. apply Forall2_app; [now apply Forall2_combine|].
    constructor; [|constructor]. split; [exact Hb|apply inb_one]. }
  destruct (error_of (terms_box B Q)) as [r|] eqn:EQ; [|discriminate].
  destruct (error_of (terms_box B J)) as [s|] eqn:EJ; [|discriminate].
  destruct (error_of_sound _ _ _ _ (PT Q cq bq HQ Hbq) EQ SQ) as [FQ DQ].
  destruct (error_of_sound _ _ _ _ (PT J cj bj HJ Hbj) EJ SJ) as [FJ DJ].
  destruct (box_tot _ 0 0 0) as [[lo hi] sz] eqn:T in H3. apply Z.ltb_lt, IZR_lt in H3.
  rewrite plus_IZR in H3.
  assert (ends : forall V v (b : box) (z : f32), inv V v -> inb b z -> inv (V ++ [b]) (v ++ [z]))
    by (intros; apply Forall2_app; [assumption|apply Forall2_cons;
    [assumption|apply Forall2_nil]]).
  pose proof (difference_sound (B ++ [one_box]) (x ++ [one]) (ends _ _ _ _ HB inb_one) _ _ _ _ _ _
    _ _ _ _ 0%R (ends _ _ _ _ HQ Hbq) (ends _ _ _ _ HJ Hbj)
    ltac:(rewrite !app_length, H1; reflexivity) ltac:(rewrite !app_length, H2;
      reflexivity) T ltac:(unfold at80; lra)) as D.
  pose proof (Forall2_len _ _ _ HB) as LB. pose proof (Forall2_len _ _ _ HQ) as LQ.
  pose proof (Forall2_len _ _ _ HJ) as LJ.
  rewrite !combine_end in D by lia. rewrite !tot_app in *. cbn [tot fold_right fst snd] in *.
  apply smaller_if; auto. apply Rabs_le_inv in DQ, DJ. unfold at80 in *. pose proof grid_pos.
  assert (0 < IZR grid * IZR grid)%R by nra.
  destruct (Rlt_le_dec (B2R yj) (B2R yq)) as [|N]; [assumption|exfalso].
  assert (B2R yq * IZR grid * IZR grid <= B2R yj * IZR grid * IZR grid)%R by nra. lra.
Qed.
Lemma Forall2_nth {A B} (R : A -> B -> Prop) a b da db : Forall2 R a b ->
  forall i, (i < length a)%nat -> R (nth i a da) (nth i b db).
Proof. intros H. induction H; intros [|i] Hi; cbn in *; try lia; auto. apply IHForall2. lia. Qed.
Section Check.
Variables (p T states : nat) (U : list (list box) * list box) (u : matrix * vec) (finals : list
  nat).
Hypothesis in_u : inw U u.
Definition row_of (j : nat) : list box * box := nth j (combine (fst U) (snd U)) ([], zero_box).
Definition class_reads (B : list box) (q : nat) : bool :=
  (length (combine (fst U) (snd U)) =? states)%nat && (q <? states)%nat && forallb (fun j =>
    (j =? q)%nat || leads_by B (row_of q) (row_of j)) (seq 0 states).
Lemma class_reads_sound B x q y : class_reads B q = true -> inv B x -> with_bias x u y ->
  length y = states /\ strictly_largest y q.
Proof.
  unfold class_reads. intros H HB HY. apply andb_prop in H as [H H3].
  apply andb_prop in H as [H1 H2]. apply Nat.eqb_eq in H1. apply Nat.ltb_lt in H2.
  rewrite forallb_forall in H3.
  destruct in_u as [I1 I2]. pose proof (Forall2_combine _ _ _ _ _ _ I1 I2) as IC.
  pose proof (Forall2_len _ _ _ IC) as LC. pose proof (Forall2_len _ _ _ HY) as LY.
  assert (len : length y = states) by (etransitivity; [symmetry; exact LY|]; etransitivity;
    [symmetry; exact LC|exact H1]). split; [exact len|]. split; [lia|]. intros j Hj N.
  specialize (H3 j ltac:(apply in_seq; lia)).
  apply orb_prop in H3 as [H3|H3]; [apply Nat.eqb_eq in H3; lia|].
  pose proof (Forall2_nth _ _ _ ([], zero_box) ([], zero) IC q ltac:(lia)) as [Q1 Q2].
  pose proof (Forall2_nth _ _ _ ([], zero_box) ([], zero) IC j ltac:(lia)) as [J1 J2].
  eapply leads_by_sound; [exact H3|exact HB|exact Q1|exact Q2|exact J1|exact J2| |];
    apply (Forall2_nth _ _ _ ([], zero) zero HY); lia.
Qed.
(* a class whose final state is none occurs at the padding only *)
Definition read_fits (X : list (list box)) : bool := forallb (fun k =>
  (states <=? nth k finals O)%nat || class_reads (nth k X []) (nth k finals O))
  (seq 0 (length X)).
(* the classes of the next layer know their places if those of this one do *)
Definition places_fit (X : list (list box)) (h : layer_hint) (hs : list layer_hint) : bool :=
  match hs with [] => true | h2 :: _ =>
    forallb (fun k => forallb (fun rs => (nth (next_class h k rs) (PlaceOf h2) O =? nth k (PlaceOf
      h) O)%nat) (residues_at_class h k)) (seq 0 (length X)) end.
Fixpoint layers_fit (ls : list tlayer) (hs : list layer_hint) (P X : list (list box)) : bool :=
  match ls, hs with
  | [], [] => read_fits X
  | l :: ls, h :: hs =>
      match box_layer l with None => false | Some b =>
      match results p T P X h b with None => false | Some (os, Hs) =>
      let X' := gathered h os in places_fit X h hs && lies_in X' os &&
      match ls with
      | [] => layers_fit ls hs [] X'
      | _ => match places_after T P h b Hs with None => false | Some P' =>
        (length P' =? S T)%nat && layers_fit ls hs P' X' end
      end end end
  | _, _ => false
  end.
Definition final_class (hs : list layer_hint) (cls : nat -> nat) : nat -> nat :=
  fold_left (fun c h => next_classes h c) hs cls.
Definition first_placed (hs : list layer_hint) (n : nat) (cls : nat -> nat) : Prop :=
  match hs with [] => True | h :: _ => placed p h n cls end.
(* at position t each layer has a class that is allowed *)
Fixpoint all_allowed (hs : list layer_hint) (cls : nat -> nat) (t : nat) : Prop :=
  match hs with [] => True | h :: hs => (next_classes h cls t < NextClasses h)%nat /\
    all_allowed hs (next_classes h cls) t end.
Lemma places_fit_sound X h hs n cls xs : places_fit X h hs = true ->
  by_class X n cls xs -> placed p h n cls ->
  (forall t, (1 <= t < n)%nat -> (next_classes h cls t < NextClasses h)%nat) ->
    first_placed hs n (next_classes h cls).
Proof.
  intros H HB HP HN. destruct hs as [|h2 hs]; [exact I|]. intros i Hi.
  destruct (HB i Hi) as [C _]. rewrite <- (HP i Hi). unfold places_fit in H.
  rewrite forallb_forall in H.
  specialize (H (cls i) ltac:(apply in_seq; lia)). rewrite forallb_forall in H.
  apply Nat.eqb_eq, H, residues_in, HN, Hi.
Qed.
Lemma layers_sound ex n ys : is_exp ex -> (n <= S T)%nat -> forall ls hs P X cls xs, layers_fit ls
  hs P X = true ->
  (ls <> [] -> at_places P n xs /\ length P = S T) -> first_placed hs n cls ->
    (forall t, (1 <= t < n)%nat -> all_allowed hs cls t) ->
  by_class X n cls xs -> layers_on ex n ls xs ys -> forall t, (1 <= t < n)%nat ->
    (nth (final_class hs cls t) finals O < states)%nat -> forall y, with_bias (ys t) u y ->
    length y = states /\ strictly_largest y (nth (final_class hs cls t) finals O).
Proof.
  intros HX Hn ls. induction ls as [|l ls IH]; intros [|h hs] P X cls xs HF HP HFP HAA HB HL t Ht
    HQ y Hy; try discriminate; cbn [layers_fit layers_on] in *.
  - subst ys. destruct (HB t Ht) as [C1 C2]. unfold read_fits in HF. rewrite forallb_forall in HF.
    specialize (HF (cls t) ltac:(apply in_seq; lia)). cbn in HQ |- *.
    apply orb_prop in HF as [HF|HF]; [apply Nat.leb_le in HF; lia|].
    eapply class_reads_sound; eauto.
  - destruct HL as [zs [HL1 HL2]]. destruct (HP ltac:(discriminate)) as [HA HPL].
    destruct (box_layer l) as [b|] eqn:EB; [|discriminate]. apply box_layer_sound in EB.
    destruct (results p T P X h b) as [[os Hs]|] eqn:ER; [|discriminate]. cbv zeta in HF.
    apply andb_prop in HF as [HF HF3]. apply andb_prop in HF as [PF HF1].
    set (X' := gathered h os) in *. cbn [first_placed] in HFP.
    assert (HN : forall t, (1 <= t < n)%nat -> (next_classes h cls t < NextClasses h)%nat) by
      (intros i Hi; apply (HAA i Hi)).
    assert (HA2 : forall t, (1 <= t < n)%nat -> all_allowed hs (next_classes h cls) t) by (intros
      i Hi; apply (HAA i Hi)).
    destruct (results_sound p T P X h b l EB ex n cls xs zs os Hs X' HX Hn ER HF1 HA HB HFP HN HL1)
      as [BX FH].
    pose proof (places_fit_sound X h hs n cls xs PF HB HFP HN) as NP.
    change (final_class (h :: hs) cls) with (final_class hs (next_classes h cls)) in *.
    destruct ls as [|l2 ls]; [eapply IH; eauto; congruence|].
    destruct (places_after T P h b Hs) as [P'|] eqn:EP; [|discriminate].
    apply andb_prop in HF3 as [L3 HF3]. apply Nat.eqb_eq in L3. eapply IH; eauto. intros _.
    split; [|exact L3]. eapply places_sound with (P := P); eauto. lia.
Qed.
End Check.

(* ---------- the start: padding after position 0 as letters before each word ---------- *)
Definition as_letters (tr : transformer) : transformer :=
  {| Tokens := Tokens tr ++ tl (Padding tr); Padding := firstn 1 (Padding tr);
     Places := Places tr; TLayers := TLayers tr; Unembed := Unembed tr |}.
Definition pads (tr : transformer) : list nat :=
  seq (length (Tokens tr)) (length (Padding tr) - 1).
Lemma same_symbol tr w i : Forall (fun a => (a < length (Tokens tr))%nat) w ->
  (0 < length (Padding tr))%nat -> (i < length (Padding tr) + length w)%nat ->
  symbol (as_letters tr) (pads tr ++ w) i = symbol tr w i.
Proof.
  intros HW HP Hi. unfold symbol, as_letters, pads. cbn [Padding Tokens].
  destruct (Padding tr) as [|x l] eqn:E; [cbn in HP; lia|]. cbn [firstn tl length] in *.
  rewrite Nat.sub_succ, Nat.sub_0_r.
  destruct i as [|i]; [reflexivity|]. change (S i <? 1)%nat with false. cbv iota.
  change (S i <? S (length l))%nat with (i <? length l)%nat. rewrite !Nat.sub_succ, Nat.sub_0_r.
  destruct (Nat.ltb_spec i (length l)) as [C|C]; cbn [nth].
  - assert (E1 : nth i (seq (length (Tokens tr)) (length l) ++ w) O = (length (Tokens tr) + i)%nat)
      by (rewrite app_nth1 by (rewrite seq_length; exact C); now rewrite seq_nth by exact C).
    rewrite E1, app_nth2 by lia.
    replace (length (Tokens tr) + i - length (Tokens tr))%nat with i by lia. reflexivity.
  - assert (E1 : nth i (seq (length (Tokens tr)) (length l) ++ w) O = nth (i - length l) w O)
      by (rewrite app_nth2 by (rewrite seq_length; exact C); now rewrite seq_length).
    rewrite E1.
    rewrite app_nth1; [reflexivity|]. rewrite Forall_forall in HW. apply HW, nth_In. lia.
Qed.
Lemma same_embedding tr w i x : Forall (fun a => (a < length (Tokens tr))%nat) w ->
  (0 < length (Padding tr))%nat -> (i < length (Padding tr) + length w)%nat ->
  embedded tr w i x -> embedded (as_letters tr) (pads tr ++ w) i x.
Proof. intros. unfold embedded. rewrite same_symbol by assumption. assumption. Qed.
Definition sum_of_two (a p : list box) : option (list box) :=
  mapM (fun c => sum_box [(nth c a zero_box, one_box); (nth c p zero_box, one_box)]) (seq 0
    (length p)).
(* the class of a letter at the start: the letter and the residue of its position *)
Definition begin_with (p T : nat) (tr : transformer) : option (list (list box) * list (list box))
  :=
  match all_boxes (Tokens tr), all_boxes (Padding tr), all_boxes (Places tr) with
  | Some toks, Some pads, Some pls =>
      match sum_of_two (nth 0 pads []) (nth 0 pls []), mapM (fun q => mapM (fun a =>
        sum_of_two a q) toks) (firstn T (tl pls)) with
      | Some p0, Some rows =>
          let L := length toks in let P := p0 :: map hull_of rows in
          let X := map (fun k => hull_of (map (fun t => nth (k mod L) (nth t rows []) []) (match
            filter (fun t => S t mod p =? k / L)%nat (seq 0 T) with [] => [(T - 1)%nat] | ts =>
            ts end))) (seq 0 (L * p)) in
          if (length pads =? 1)%nat && (length pls =? S T)%nat && (0 <? p)%nat &&
             forallb (fun t => forallb (fun a => let e := nth a (nth t rows []) [] in
               subs e (nth (S t) P []) && subs e (nth (a + L * (S t mod p)) X [])) (seq 0 L)) (seq
               0 T)
          then Some (P, X) else None
      | _, _ => None end
  | _, _, _ => None end.
Lemma sum_of_two_sound a x p y B z : inv a x -> inv p y -> sum_of_two a p = Some B ->
  each_sum (fun c => [(at_channel c x, one); (at_channel c y, one)]) (seq 0 (length y)) z ->
    inv B z.
Proof.
  intros Ha Hp E H. eapply each_sum_sound; [|exact E|exact H]. rewrite (Forall2_len _ _ _ Hp).
  apply Forall2_same. intros c.
  apply Forall2_cons; [split; [now apply inv_at|apply inb_one]|]. apply Forall2_cons; [split;
    [now apply inv_at|apply inb_one]|]. apply Forall2_nil.
Qed.
Definition letter_at (w : list nat) (i : nat) : nat := nth (i - 1) w O.
Definition class_at (L p : nat) (w : list nat) (i : nat) : nat := (letter_at w i + L * (i mod
  p))%nat.
Lemma begin_sound p T tr P X w xs : begin_with p T tr = Some (P, X) -> (length w <= T)%nat ->
  Forall (fun a => (a < length (Tokens tr))%nat) w ->
  (forall i, (i < 1 + length w)%nat -> embedded tr w i (xs i)) ->
  length (Padding tr) = 1%nat /\ length P = S T /\ at_places P (1 + length w) xs /\
    by_class X (1 + length w) (class_at (length (Tokens tr)) p w) xs /\ (0 < p)%nat.
Proof.
  unfold begin_with. destruct (all_boxes (Tokens tr)) as [toks|] eqn:ET; [|discriminate].
  destruct (all_boxes (Padding tr)) as [pads|] eqn:EP; [|discriminate].
  destruct (all_boxes (Places tr)) as [pls|] eqn:EL; [|discriminate].
  destruct (sum_of_two (nth 0 pads []) (nth 0 pls [])) as [p0|] eqn:E0; [|discriminate].
  destruct (mapM _ (firstn T (tl pls))) as [rows|] eqn:ER; [|discriminate]. cbv zeta.
  destruct andb eqn:C; [|discriminate]. intros H. apply some_inj in H.
  set (X0 := map _ (seq 0 (length toks * p))) in *. assert (EqP : P = p0 :: map hull_of rows) by
    congruence. assert (EqX : X = X0) by congruence. clear H.
  rewrite <- EqP, <- EqX in C. apply andb_prop in C as [C C3]. apply andb_prop in C as [C C4].
  apply andb_prop in C as [C1 C2]. apply Nat.eqb_eq in C1, C2. apply Nat.ltb_lt in C4.
  apply all_boxes_sound in ET, EP, EL. intros Hw HF HE. pose proof (Forall2_len _ _ _ EP) as LP.
  pose proof (Forall2_len _ _ _ ET) as LT.
  assert (Lt : length (firstn T (tl pls)) = T) by (rewrite firstn_length; destruct pls; cbn in *;
    lia).
  assert (LR : length rows = T) by (apply mapM_some in ER; rewrite (Forall2_len _ _ _ ER);
    exact Lt).
  assert (nils : inv [] []) by constructor.
  assert (Main : forall i, (1 <= i < 1 + length w)%nat -> (letter_at w i < length toks)%nat /\
    inv (nth i P []) (xs i) /\ inv (nth (class_at (length toks) p w i) X []) (xs i)).
  { intros i Hi. unfold class_at, letter_at. assert (HA : (nth (i - 1) w O < length toks)%nat).
    { rewrite LT. rewrite Forall_forall in HF. apply HF, nth_In. lia. }
    split; [exact HA|]. set (a := nth (i - 1) w O) in *. pose proof (HE i ltac:(lia)) as Hx.
    unfold embedded, symbol in Hx. rewrite <- LP, C1 in Hx.
    rewrite (proj2 (Nat.ltb_ge i 1)) in Hx by lia. fold a in Hx.
    assert (R1 : mapM (fun b => sum_of_two b (nth (i - 1) (firstn T (tl pls)) [])) toks = Some
      (nth (i - 1) rows [])) by (apply (mapM_nth _ _ _ (i - 1) [] [] ER); lia).
    assert (R2 : sum_of_two (nth a toks []) (nth (i - 1) (firstn T (tl pls)) []) = Some (nth a
      (nth (i - 1) rows []) [])) by (apply (mapM_nth _ _ _ a [] [] R1); lia).
    assert (R3 : nth (i - 1) (firstn T (tl pls)) [] = nth i pls []).
    { destruct i as [|i]; [lia|]. replace (S i - 1)%nat with i by lia. destruct pls as [|pl pls];
        [cbn in C2; lia|]. cbn [tl nth] in *.
      assert (G : forall (A : Type) (d : A) m j (l : list A), (j < m)%nat ->
        nth j (firstn m l) d = nth j l d).
      { intros A d m. induction m as [|m IH]; intros j l Hj; [lia|].
        destruct l; [now destruct j|]. destruct j; cbn; auto. apply IH. lia. }
      apply G. lia. }
    rewrite R3 in R2. assert (I : inv (nth a (nth (i - 1) rows []) []) (xs i)).
    { eapply sum_of_two_sound; [| |exact R2|exact Hx]; apply (Forall2_at inv); auto. }
    rewrite forallb_forall in C3. specialize (C3 (i - 1)%nat ltac:(apply in_seq; lia)).
    rewrite forallb_forall in C3. specialize (C3 a ltac:(apply in_seq; lia)).
    apply andb_prop in C3 as [S1 S2]. replace (S (i - 1)) with i in S1, S2 by lia.
    split; eapply subs_sound; eauto. }
  split; [lia|]. split; [rewrite EqP; cbn; rewrite map_length; lia|]. split.
  - intros i Hi. destruct i as [|i]; [|apply Main; lia]. rewrite EqP. cbn [nth].
    pose proof (HE O ltac:(lia)) as Hx. unfold embedded, symbol in Hx. rewrite <- LP, C1 in Hx.
    cbn [Nat.ltb Nat.leb] in Hx.
    eapply sum_of_two_sound; [| |exact E0|exact Hx]; apply (Forall2_at inv); auto.
  - split; [|exact C4]. rewrite <- LT. intros i Hi. destruct (Main i Hi) as [A [_ B]].
    split; [|exact B]. rewrite EqX. unfold X0. rewrite map_length, seq_length.
    unfold class_at. pose proof (Nat.mod_upper_bound i p ltac:(lia)). nia.
Qed.

Lemma begin_padding p T tr P X : begin_with p T tr = Some (P, X) -> length (Padding tr) = 1%nat.
Proof.
  unfold begin_with. destruct (all_boxes (Tokens tr)); [|discriminate].
  destruct (all_boxes (Padding tr)) as [pads|] eqn:EP; [|discriminate].
  destruct (all_boxes (Places tr)); [|discriminate].
  destruct (sum_of_two _ _); [|discriminate]. destruct (mapM _ _); [|discriminate]. cbv zeta.
  destruct andb eqn:C; [|discriminate]. intros _.
  apply andb_prop in C as [C _]. apply andb_prop in C as [C _]. apply andb_prop in C as [C _].
  apply Nat.eqb_eq in C.
  apply all_boxes_sound in EP. rewrite <- (Forall2_len _ _ _ EP). exact C.
Qed.

(* ---------- along the automaton ---------- *)
Fixpoint advance (hs : list layer_hint) (rho : list (list Z)) (k : nat) : list (list Z) * nat :=
  match hs, rho with
  | h :: hs, r :: rho => let r' := advanced h r k in let '(rho', kf) := advance hs rho (next_class
    h k r') in (r' :: rho', kf)
  | _, _ => ([], k)
  end.
Fixpoint all_res (hs : list layer_hint) (cls : nat -> nat) (t : nat) : list (list Z) :=
  match hs with [] => [] | h :: hs => residues h cls t :: all_res hs (next_classes h cls) t end.
Lemma advance_is hs : forallb rises hs = true -> forall cls t, advance hs (all_res hs cls t) (cls
  (S t)) = (all_res hs cls (S t), final_class hs cls (S t)).
Proof.
  induction hs as [|h hs IH]; intros R cls t; cbn [advance all_res]; [reflexivity|]. cbn in R.
  apply andb_prop in R as [R1 R2]. rewrite advanced_is by exact R1.
  change (next_class h (cls (S t)) (residues h cls (S t))) with (next_classes h cls (S t)).
  rewrite IH by exact R2. reflexivity.
Qed.
Fixpoint advance_allowed (hs : list layer_hint) (rho : list (list Z)) (k : nat) : bool :=
  match hs, rho with
  | h :: hs, r :: rho => let r' := advanced h r k in let k' := next_class h k r' in
    (k' <? NextClasses h)%nat && advance_allowed hs rho k'
  | _, _ => true
  end.
Lemma advance_allowed_is hs : forallb rises hs = true -> forall cls t, advance_allowed hs (all_res
  hs cls t) (cls (S t)) = true -> all_allowed hs cls (S t).
Proof.
  induction hs as [|h hs IH]; intros R cls t; cbn [advance_allowed all_res all_allowed]; [auto|].
  cbn in R. apply andb_prop in R as [R1 R2]. cbv zeta. rewrite advanced_is by exact R1.
  change (next_class h (cls (S t)) (residues h cls (S t))) with (next_classes h cls (S t)).
  intros H. apply andb_prop in H as [H1 H2]. apply Nat.ltb_lt in H1. auto.
Qed.
Lemma all_res_start hs : forall c1 c2, all_res hs c1 O = all_res hs c2 O.
Proof. induction hs as [|h hs IH]; intros; cbn [all_res]; [reflexivity|]. f_equal. apply IH. Qed.
Definition known_eq (a b : list (list Z) * nat) : {a = b} + {a <> b}.
Proof. decide equality; [apply Nat.eq_dec|]. apply list_eq_dec, list_eq_dec, Z.eq_dec. Defined.
(* a set as a map from codes *)
Notation entry := (list (list Z) * nat)%type.
Definition code (e : entry) : positive := Z.to_pos (fold_left (fun c r => fold_left (fun c z =>
  (c * 263 + z) mod 1048573) r c) (fst e) (Z.of_nat (snd e))).
Definition bucket (c : positive) (m : PositiveMap.t (list entry)) : list entry :=
  match PositiveMap.find c m with Some l => l | None => [] end.
Definition indexed (l : list entry) : PositiveMap.t (list entry) := fold_left (fun m e =>
  PositiveMap.add (code e) (e :: bucket (code e) m) m) l (PositiveMap.empty _).
Definition member (a : entry) (m : PositiveMap.t (list entry)) : bool :=
  existsb (fun b => if known_eq a b then true else false) (bucket (code a) m).
Lemma bucket_add c d e m b : In b (bucket c (PositiveMap.add d (e :: bucket d m) m)) ->
  b = e \/ In b (bucket c m).
Proof.
  unfold bucket at 1. destruct (Pos.eq_dec c d) as [->|N].
  - rewrite PositiveMap.gss. intros [->|I]; auto.
  - rewrite PositiveMap.gso by exact N. auto.
Qed.
Lemma indexed_in c b l : In b (bucket c (indexed l)) -> In b l.
Proof.
  assert (G : forall l m, In b (bucket c (fold_left (fun m e => PositiveMap.add (code e)
    (e :: bucket (code e) m) m) l m)) -> In b l \/ In b (bucket c m)).
  { clear l. induction l as [|e l IH]; intros m H; cbn [fold_left] in H; [now right|].
    apply IH in H as [H|H]; [left; now right|]. apply bucket_add in H as [->|H];
      [left; now left|now right]. }
  intros H. apply G in H as [H|H]; [exact H|]. unfold bucket in H.
  rewrite PositiveMap.gempty in H. contradiction.
Qed.
Lemma member_in a l : member a (indexed l) = true -> In a l.
Proof.
  unfold member. intros H. apply existsb_exists in H as [b [I E]].
  destruct (known_eq a b) as [->|]; [eapply indexed_in; eauto|discriminate].
Qed.
(* over the padding: the residue of the position, and those of the layers *)
Fixpoint over_pads (p L : nat) (hs : list layer_hint) (r : nat) (rho : list (list Z))
  (l : list nat) : option (nat * list (list Z)) :=
  match l with [] => Some (r, rho) | a :: l =>
    let r := (S r mod p)%nat in let k := (a + L * r)%nat in
    if advance_allowed hs rho k then over_pads p L hs r (fst (advance hs rho k)) l else None end.
(* known: the residue of the position and of each group of each layer, and the state; where no
   place repeats, words end after T letters *)
Definition follows (T p L : nat) (before : list nat) (d : automaton) (hs : list layer_hint)
  (finals : list nat) (known : list entry) : bool :=
  let m := indexed known in (0 <? p)%nat && forallb rises hs &&
  match over_pads p L hs O (all_res hs (fun _ => O) O) before with
  | Some (r, rho) => member ([Z.of_nat r] :: rho, First d) m | None => false end &&
  forallb (fun e => let t := Z.to_nat (hd 0%Z (hd [] (fst e))) in
    (T <? p)%nat && (T <=? t)%nat ||
    forallb (fun a => let r := (S t mod p)%nat in let k := (a + L * r)%nat in
      let '(rho, kf) := advance hs (tl (fst e)) k in let q := follow d (snd e) a in
      advance_allowed hs (tl (fst e)) k && (nth kf finals O =? q)%nat &&
      (q <? length (Table d))%nat && member ([Z.of_nat r] :: rho, q) m) (seq 0 (Letters d))) known.
Lemma firstn_next (w : list nat) t : (t < length w)%nat -> firstn (S t) w = firstn t w ++ [nth t w
  O].
Proof. revert t. induction w as [|a w IH]; intros [|t] H; cbn in *; try lia; [reflexivity|].
f_equal. apply IH. lia. Qed.
Lemma next_residue p t : (0 < p)%nat -> (S (t mod p) mod p = S t mod p)%nat.
Proof.
  intros H. rewrite <- (Nat.add_1_r (t mod p)), Nat.add_mod_idemp_l, Nat.add_1_r by lia.
  reflexivity.
Qed.
Lemma over_pads_sound p L hs w : (0 < p)%nat -> forallb rises hs = true -> forall v u r rho,
  over_pads p L hs (length u mod p) (all_res hs (class_at L p (u ++ v ++ w)) (length u)) v =
    Some (r, rho) ->
  r = (length (u ++ v) mod p)%nat /\
  rho = all_res hs (class_at L p (u ++ v ++ w)) (length (u ++ v)) /\
  forall t, (length u < t <= length (u ++ v))%nat ->
    all_allowed hs (class_at L p (u ++ v ++ w)) t.
Proof.
  intros P0 HR. induction v as [|a v IH]; intros u r rho E; cbn [over_pads] in E.
  - rewrite app_nil_r. injection E as <- <-. split; [reflexivity|]. split; [reflexivity|]. lia.
  - cbv zeta in E. rewrite next_residue in E by exact P0.
    set (cls := class_at L p (u ++ (a :: v) ++ w)) in *.
    assert (CA : cls (S (length u)) = (a + L * (S (length u) mod p))%nat).
    { unfold cls, class_at, letter_at. rewrite Nat.sub_succ, Nat.sub_0_r.
      rewrite app_nth2, Nat.sub_diag by lia. reflexivity. }
    rewrite <- CA, advance_is in E by exact HR.
    destruct (advance_allowed _ _ _) eqn:A; [|discriminate].
    apply (advance_allowed_is hs HR) in A. cbn [fst] in E.
    assert (EW : u ++ (a :: v) ++ w = (u ++ [a]) ++ v ++ w) by (rewrite <- app_assoc; reflexivity).
    assert (LU : length (u ++ [a]) = S (length u)) by (rewrite app_length; cbn; lia).
    specialize (IH (u ++ [a]) r rho). rewrite <- EW, LU in IH. fold cls in IH.
    destruct (IH E) as [I1 [I2 I3]]. rewrite <- app_assoc in I1, I2, I3. cbn [app] in I1, I2, I3.
    split; [exact I1|]. split; [exact I2|]. intros t Ht.
    destruct (Nat.eq_dec t (S (length u))) as [->|]; [exact A|]. apply I3. lia.
Qed.
Lemma follows_sound T p L before d hs finals known w :
  follows T p L before d hs finals known = true -> (length (before ++ w) <= T)%nat ->
  Forall (fun a => (a < Letters d)%nat) w ->
  let cls := class_at L p (before ++ w) in
  (forall t, (1 <= t <= length (before ++ w))%nat -> all_allowed hs cls t) /\
  forall t, (1 <= t <= length w)%nat ->
    nth (final_class hs cls (length before + t)) finals O = run d (firstn t w) /\
    (run d (firstn t w) < length (Table d))%nat.
Proof.
  intros H HT HF cls. unfold follows in H. cbv zeta in H. apply andb_prop in H as [H H2].
  apply andb_prop in H as [H H1]. apply andb_prop in H as [H0 HR]. apply Nat.ltb_lt in H0.
  destruct (over_pads _ _ _ _ _ _) as [[r rho]|] eqn:EO; [|discriminate].
  assert (EO' : over_pads p L hs (length (@nil nat) mod p)
    (all_res hs (class_at L p ([] ++ before ++ w)) (length (@nil nat))) before = Some (r, rho)).
  { cbn [length app]. rewrite Nat.mod_0_l, (all_res_start hs _ (fun _ => O)) by lia. exact EO. }
  destruct (over_pads_sound p L hs w H0 HR before [] r rho EO') as [-> [-> HB]].
  cbn [app length] in HB, H1. fold cls in HB, H1. apply member_in in H1.
  rewrite forallb_forall in H2.
  set (b := length before) in *. rewrite app_length in HT. fold b in HT.
  assert (Main : forall t, (t <= length w)%nat ->
    In ([Z.of_nat ((b + t) mod p)] :: all_res hs cls (b + t), run d (firstn t w)) known /\
    ((1 <= t)%nat -> (nth (final_class hs cls (b + t)) finals O = run d (firstn t w) /\
      (run d (firstn t w) < length (Table d))%nat) /\ all_allowed hs cls (b + t))).
  { induction t as [|t IH]; intros Ht.
    - split; [rewrite Nat.add_0_r; exact H1|lia].
    - destruct (IH ltac:(lia)) as [I _]. specialize (H2 _ I). cbn [fst snd hd tl] in H2.
      rewrite Nat2Z.id in H2. apply orb_prop in H2 as [H2|H2].
      { exfalso. apply andb_prop in H2 as [H2 H3]. apply Nat.ltb_lt in H2. apply Nat.leb_le in H3.
        rewrite Nat.mod_small in H3; lia. }
      rewrite forallb_forall in H2.
      assert (HA : (nth t w O < Letters d)%nat) by (rewrite Forall_forall in HF; apply HF, nth_In;
        lia).
      specialize (H2 (nth t w O) ltac:(apply in_seq; lia)). cbv zeta in H2.
      rewrite next_residue in H2 by exact H0.
      assert (CA : cls (S (b + t)) = (nth t w O + L * (S (b + t) mod p))%nat).
      { unfold cls, class_at, letter_at. rewrite Nat.sub_succ, Nat.sub_0_r.
        rewrite app_nth2 by (fold b; lia). fold b. do 2 f_equal. lia. }
      rewrite <- CA, advance_is in H2 by exact HR. apply andb_prop in H2 as [H2 H3].
      apply andb_prop in H2 as [H2 H5]. apply Nat.ltb_lt in H5.
      apply andb_prop in H2 as [H4 H2]. apply (advance_allowed_is hs HR) in H4.
      apply Nat.eqb_eq in H2. apply member_in in H3. rewrite Nat.add_succ_r.
      assert (RN : run d (firstn (S t) w) = follow d (run d (firstn t w)) (nth t w O)) by (unfold
        run; rewrite firstn_next, fold_left_app by lia; reflexivity).
      rewrite RN. auto. }
  split; [|intros t Ht; apply (Main t); lia].
  rewrite app_length. fold b. intros t Ht. destruct (le_lt_dec t b) as [C|C]; [apply HB; lia|].
  replace t with (b + (t - b))%nat by lia. apply (Main (t - b)%nat); lia.
Qed.

(* ---------- the theorem ---------- *)
Record transformer_hints := { Period : nat; LayerHints : list layer_hint; Finals : list nat;
  Known : list (list (list Z) * nat) }.
Definition starts_fit (p L : nat) (hs : list layer_hint) : bool :=
  match hs with [] => true | h :: _ => forallb (fun k => (nth k (PlaceOf h) O =? k / L)%nat) (seq
    0 (L * p)) end.
Definition counts_right (T : nat) (tr : transformer) (d : automaton) (g : transformer_hints) :
  bool :=
  let U := as_letters tr in let L := length (Tokens U) in
  let n := (length (Padding tr) - 1 + T)%nat in
  is_complete d && (length (Tokens tr) =? Letters d)%nat && (0 <? length (Padding tr))%nat &&
  follows n (Period g) L (pads tr) d (LayerHints g) (Finals g) (Known g) &&
  negb (length (TLayers tr) =? 0)%nat && starts_fit (Period g) L (LayerHints g) &&
  match box_affine (Unembed tr), begin_with (Period g) n U with
  | Some u, Some (P, X) => layers_fit (Period g) n (length (Table d)) u (Finals g) (TLayers tr)
    (LayerHints g) P X
  | _, _ => false end.
Theorem counts_right_sound T tr d g : counts_right T tr d g = true -> right_up_to T tr d.
Proof.
  unfold counts_right. cbv zeta. intros H. set (n := (length (Padding tr) - 1 + T)%nat) in *.
  apply andb_prop in H as [H H4]. apply andb_prop in H as [H H5].
  apply andb_prop in H as [H H3]. apply andb_prop in H as [H H2]. apply andb_prop in H as [H H6].
  apply andb_prop in H as [H0 H1]. apply Nat.eqb_eq in H1. apply Nat.ltb_lt in H6.
  destruct (box_affine (Unembed tr)) as [U|] eqn:EU; [|discriminate].
  destruct (begin_with (Period g) n (as_letters tr)) as [[P X]|] eqn:EB; [|discriminate].
  split; [exact H0|]. intros ex HX w Hw HF. split; [now apply forward_exists|].
  intros ys [xs [zs [HE [HL HR]]]] t Ht.
  assert (LA : length (pads tr ++ w) = (length (Padding tr) - 1 + length w)%nat) by
    (unfold pads; rewrite app_length, seq_length; reflexivity).
  assert (N : (length (Padding tr) + length w = 1 + length (pads tr ++ w))%nat) by lia.
  assert (LP : length (pads tr) = (length (Padding tr) - 1)%nat) by apply seq_length.
  assert (HT : Forall (fun a => (a < length (Tokens tr))%nat) w) by (rewrite H1; exact HF).
  assert (HW : Forall (fun a => (a < length (Tokens (as_letters tr)))%nat) (pads tr ++ w)).
  { cbn [as_letters Tokens]. rewrite app_length. apply Forall_app. split.
    - apply Forall_forall. intros a I. apply in_seq in I. destruct (Padding tr); cbn in *; lia.
    - eapply Forall_impl; [|exact HT]. cbn beta. intros; lia. }
  set (L := length (Tokens (as_letters tr))) in *.
  destruct (begin_sound (Period g) n (as_letters tr) P X (pads tr ++ w) xs EB ltac:(lia) HW)
    as [_ [LL [HA [HB P0]]]].
  { intros i Hi. apply same_embedding; auto; [lia|]. apply HE. lia. }
  destruct (follows_sound n (Period g) L (pads tr) d _ _ _ w H2 ltac:(lia) HF) as [FA FR].
  unfold answers. destruct (FR (S t) ltac:(lia)) as [FE FL]. rewrite <- FE in FL |- *.
  replace (length (pads tr) + S t)%nat with (length (Padding tr) + t)%nat in * by lia.
  rewrite N in HL.
  eapply layers_sound with (p := Period g) (T := n) (n := (1 + length (pads tr ++ w))%nat)
    (ys := zs); [apply box_affine_sound; exact EU|exact HX|lia|exact H4|intros _; split;
      [exact HA|exact LL]| | |exact HB|exact HL|lia|exact FL|exact (HR t Ht)].
  2: { intros i Hi. apply FA. lia. }
  unfold starts_fit in H5. destruct (LayerHints g) as [|h hs]; [exact I|]. intros i Hi.
  rewrite forallb_forall in H5. unfold class_at.
  assert (HA' : (letter_at (pads tr ++ w) i < L)%nat) by (unfold letter_at;
    rewrite Forall_forall in HW; apply HW, nth_In; lia).
  pose proof (Nat.mod_upper_bound i (Period g) ltac:(lia)) as M.
  set (r := (i mod Period g)%nat) in *. set (a := letter_at _ i) in *.
  specialize (H5 (a + L * r)%nat ltac:(apply in_seq; nia)). apply Nat.eqb_eq in H5.
  rewrite H5. rewrite Nat.mul_comm, Nat.div_add, Nat.div_small by lia. reflexivity.
Qed.

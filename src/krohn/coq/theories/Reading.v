(* The tensors of a file as a network of Network.v, and the proof that its layers are those of
   Recurrent.v. *)
From Coq Require Import ZArith List String Bool.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Tensors Network.
From Krohn Require Recurrent Delta Diagonal Claims.
Import ListNotations.
Notation kind := Claims.kind.
Notation mixer_of_kind := Claims.mixer_of_kind.

(* ---------- the network ---------- *)
Section Read.
Variables (kd : kind) (z : Recurrent.sizes) (ts : list tensor).
Notation inputs := (Recurrent.inputs z).
Definition read_heads (p : string) (h s k v : nat) (rank_one : bool) : list (head (list word)) :=
  let keys := pieces (h * s) k (Recurrent.matrix ts (p ++ "key") [] inputs (h * s * k)) in
  let values := pieces (h * s) v (Recurrent.matrix ts (p ++ "value") [] inputs (h * s * v)) in
  let queries := pieces h k (Recurrent.matrix ts (p ++ "query") [] inputs (h * k)) in
  let rates := pieces (h * s) k (Recurrent.biased ts (p ++ "rate") inputs (h * s * k)) in
  let betas := Recurrent.biased ts (p ++ "beta") inputs (h * s) in
  let gates := Recurrent.biased ts (p ++ "gate") inputs h in
  map (fun j => {| Gate := if rank_one then None else Some (nth j gates []);
                   Steps := map (fun i => if rank_one then RankOne (nth i keys []) (nth i values
                     []) (nth i rates [])
                                          else Householder (nth i keys []) (nth i values []) (nth
                                            i betas [])) (seq (j * s) s);
                   Query := nth j queries []; Keys := k; Values := v |}) (seq 0 h).
Definition read_mixer (p : string) : mixer (list word) :=
  match kd with
  | Claims.Heads h s k v r => Network.Delta (read_heads p h s k v r)
  | Claims.RealNumbers signed n => Network.Diagonal (if signed then Signed else Unit) n
    (Recurrent.biased ts (p ++ "gate") inputs n) (Recurrent.matrix ts (p
    ++ "write") [] inputs n)
  | Claims.ComplexNumbers n =>
      let gates := Recurrent.biased ts (p ++ "gate") inputs (2 * n) in let write :=
        Recurrent.matrix ts (p ++ "write") [] inputs (2 * n) in
      Complex n (firstn n gates) (skipn n gates) (firstn n write) (skipn n write)
  end.
Definition read_block (i : nat) : block (list word) := {|
  Mixer := read_mixer (Recurrent.block i "mix."); Out := Recurrent.matrix ts (Recurrent.block i
    "mix.out") [] (Recurrent.ReadOut
    (mixer_of_kind kd)) (Recurrent.Width z);
  Mlp := match Recurrent.Hidden z with O => None | S _ =>
    Some (Recurrent.matrix ts (Recurrent.block i "mlp.in") [Recurrent.block i "mlp.in_bias"]
      inputs (Recurrent.Hidden z),
      Recurrent.matrix ts (Recurrent.block i "mlp.out") [] (Recurrent.Hidden z) (Recurrent.Width
        z)) end |}.
Definition network_of : network (list word) := {|
  Two := Recurrent.LooksBack z; Dim := Recurrent.Width z; Rows := Recurrent.LettersRead z;
  Embedding := Recurrent.matrix ts "wte" [] (Recurrent.LettersRead z) (Recurrent.Width z);
  Blocks := map read_block (seq 0 (Recurrent.Layers z)); Readout := Recurrent.biased ts "head"
    (Recurrent.Width z)
    (Recurrent.Classes z) |}.
End Read.

(* ---------- equal sets ---------- *)
Definition same {A} (m m' : A -> Prop) : Prop := forall a, m a <-> m' a.
Lemma same_refl {A} (m : A -> Prop) : same m m. Proof. now intros a. Qed.
Lemma same_bind {A B} (m : possible A) m' (k : A -> possible B) k' :
  same m m' -> (forall a, same (k a) (k' a)) -> same (bind m k) (Recurrent.then_any m' k').
Proof. intros H K b. split; intros [a [X Y]]; exists a; (split; [now apply H|now apply K]). Qed.
Lemma same_det {A B} (v : A) (k : A -> possible B) m : same (k v) m -> same (bind (fun r =>
  v = r) k) m.
Proof. intros H b. rewrite <- (H b). split; [intros [a [<- X]]; exact X|intros X; now exists v].
Qed.
Lemma same_value {A B} (m : possible A) v (k : A -> possible B) m' : same m (eq v) ->
  same (k v) m' -> same (bind m k) m'.
Proof. intros H K b. rewrite <- (K b). split; [intros [a [X Y]]; apply H in X; now subst|intros X;
  exists v; split; auto; now apply H]. Qed.
Lemma same_mapM {A A' B} (g : A' -> A) (f : A -> possible B) f' l : (forall a, same (f (g a)) (f'
  a)) -> same (mapM f (map g l)) (Forall2 f' l).
Proof.
  intros H. induction l as [|a l IH]; cbn [mapM map]; intros b; (split; [|intros X; inversion X;
    subst]).
  - intros <-. constructor.
  - reflexivity.
  - intros [c [X [cs [Y <-]]]]. constructor; [now apply H|now apply IH].
  - exists y. split; [now apply H|]. exists l'. split; [now apply IH|reflexivity].
Qed.
Lemma same_map {A B} (f : A -> possible B) f' l : (forall a, same (f a) (f' a)) ->
  same (mapM f l) (Forall2 f' l).
Proof. intros H. rewrite <- (map_id l) at 1. now apply same_mapM. Qed.
Lemma Forall2_values {A B} (f : A -> B) l : same (Forall2 (fun a => eq (f a)) l) (eq (map f l)).
Proof.
  intros k. split.
  - intros H. induction H; cbn; congruence.
  - intros <-. induction l; constructor; auto.
Qed.
Lemma same_trans {A} (m m' m'' : A -> Prop) : same m m' -> same m' m'' -> same m m''.
Proof. intros H K a. rewrite (H a). apply K. Qed.
Lemma same_values {A A' B} (g : A' -> A) (f : A -> possible B) f' l : (forall a, same (f (g a))
  (eq (f' a))) -> same (mapM f (map g l)) (eq (map f' l)).
Proof. intros H. eapply same_trans; [apply same_mapM, H|apply Forall2_values]. Qed.
Lemma same_values1 {A B} (f : A -> possible B) f' l : (forall a, same (f a) (eq (f' a))) ->
  same (mapM f l) (eq (map f' l)).
Proof. intros H. rewrite <- (map_id l) at 1. now apply same_values. Qed.
Lemma same_map2M {A A' B C} (g : A' -> A) (f : A -> B -> possible C) f' l k : (forall a b,
  same (f (g a) b) (f' a b)) ->
  same (map2M f (map g l) k) (Recurrent.each2 f' l k).
Proof.
  intros H. unfold Recurrent.each2. revert k. induction l as [|a l IH]; intros [|b k];
    cbn [map2M map combine]; intros c;
    try (split; [intros <-; constructor|intros X; inversion X; reflexivity]).
  split.
  - intros [y [X [ys [Y <-]]]]. constructor; [now apply H|now apply IH].
  - intros X. inversion X; subst. exists y. split; [now apply H|].
    exists l'. split; [now apply IH|reflexivity].
Qed.
Lemma same_map2 {A B C} (f : A -> B -> possible C) f' l k : (forall a b, same (f a b) (f' a b)) ->
  same (map2M f l k) (Recurrent.each2 f' l k).
Proof. intros H. rewrite <- (map_id l) at 1. now apply same_map2M. Qed.
Lemma same_map2_values {A B C} (f : A -> B -> possible C) f' l k : (forall a b, same (f a b) (eq
  (f' (a, b)))) -> same (map2M f l k) (eq (map f' (combine l k))).
Proof.
  intros H. eapply same_trans; [apply same_map2 with (f' := fun a b => eq (f' (a, b))); exact H|].
  unfold Recurrent.each2. eapply same_trans; [|apply Forall2_values]. intros c.
  split; intros X; induction X as [|[a b] y l' k' E X IH]; constructor; auto.
Qed.
Lemma same_foldM {A A' B} (g : A' -> A) (f : B -> A -> possible B) f' l : (forall b a,
  same (f b (g a)) (f' b a)) ->
  forall b, same (foldM f (map g l) b) (Delta.in_turn f' l b).
Proof. intros H. induction l as [|a l IH]; intros b; cbn [foldM map Delta.in_turn];
  [apply same_refl|]. apply same_bind; auto. Qed.

(* ---------- equal layers ---------- *)
Section Layers.
Variables (sums_of : list f32 -> list f32 -> f32 -> Prop) (sig gat th : f32 -> f32 ->
  Prop) (kd : kind) (z : Recurrent.sizes) (ts : list tensor).
Let D : Recurrent.device := {| Recurrent.Sums := sums_of; Recurrent.Sigmoid := sig;
  Recurrent.Gate := gat; Recurrent.Tanh := th |}.
Local Instance dev : Arith f32 (list word) possible := device sums_of sig gat th.
Let inputs := Recurrent.inputs z.

Lemma l_linear x w : same (linear x w) (Recurrent.linear D x w).
Proof. apply same_map. intros c. apply same_refl. Qed.
Lemma l_affine x w : same (affine x w) (Recurrent.affine D x w).
Proof. unfold affine, with_one. eapply same_value; [apply same_det; apply same_refl|].
apply l_linear. Qed.
Lemma l_affine1 x w : same (affine1 x w) (Delta.affine1 D x w).
Proof. unfold affine1, with_one. eapply same_value; [apply same_det; apply same_refl|].
apply same_refl. Qed.
Lemma l_plus_product a x y : same (plus_product a x y) (Recurrent.plus_product D a x y).
Proof. apply same_det. apply same_refl. Qed.
Lemma l_normalize k : same (normalize k) (Delta.normalized D k).
Proof. apply same_bind; [apply same_refl|]. intros q. apply same_det. apply same_values1.
intros c. apply same_refl. Qed.
Lemma l_twice y : same (twice_sigmoid y) (Recurrent.then_any (Recurrent.Sigmoid D y) (fun b =>
  eq (Bmult mode_NE (literal 2 0 false) b))).
Proof. apply same_bind; [apply same_refl|]. intros b. apply same_det. apply same_refl. Qed.
Lemma l_added x y : same (map2M add x y) (eq (Recurrent.added x y)).
Proof. apply same_map2_values. intros a b. apply same_refl. Qed.

Lemma l_one_step p h s k v r x S i :
  let keys := pieces (h * s) k (Recurrent.matrix ts (p ++ "key") [] inputs (h * s * k)) in
  let values := pieces (h * s) v (Recurrent.matrix ts (p ++ "value") [] inputs (h * s * v)) in
  let rates := pieces (h * s) k (Recurrent.biased ts (p ++ "rate") inputs (h * s * k)) in
  let betas := Recurrent.biased ts (p ++ "beta") inputs (h * s) in
  same (one_step x S (if r : bool then RankOne (nth i keys []) (nth i values []) (nth i rates [])
                      else Householder (nth i keys []) (nth i values []) (nth i betas [])))
       (Delta.one_step h s k v r D ts inputs p x S i).
Proof.
  cbv zeta. unfold Delta.one_step. destruct r; cbn [one_step].
  - apply same_bind; [apply l_linear|]. intros raw. apply same_bind; [apply l_normalize|].
    intros key. apply same_bind; [apply l_linear|]. intros value.
    apply same_bind; [apply l_affine|]. intros y. apply same_bind; [apply same_map; intros;
      apply l_twice|]. intros a.
    eapply same_value; [apply same_map2_values with (f' := fun c => Bmult mode_NE (fst c) (snd
      c)); intros; apply same_refl|].
    apply same_map2. intros c vj. apply same_bind; [apply same_refl|]. intros t. apply same_det.
    apply same_map2. intros. apply l_plus_product.
  - apply same_bind; [apply l_linear|]. intros raw. apply same_bind; [apply l_normalize|].
    intros key. apply same_bind; [apply l_linear|]. intros value.
    apply same_bind; [apply l_affine1|]. intros y. apply same_bind; [apply l_twice|]. intros a.
    apply same_map2. intros c vj. apply same_bind; [apply same_refl|]. intros t.
    apply same_det, same_det. apply same_map2. intros. apply l_plus_product.
Qed.
Lemma l_heads p h s k v r x S : same (mix (Network.Delta (read_heads z ts p h s k v r)) x S)
  (Delta.all_heads h s k v r D ts inputs p x S).
Proof.
  cbn [mix]. unfold Delta.all_heads, read_heads. apply same_bind; [|intros; apply same_refl].
  apply same_map2M. intros j M.
  unfold one_head, Delta.one_head. cbn [Gate Steps Query]. apply same_bind.
  { destruct r; [apply same_refl|]. apply same_bind; [apply l_affine1|]. intros y.
    apply same_bind; [apply same_refl|]. intros g. apply same_values1. intros c.
    apply same_values1. intros. apply same_refl. }
  intros opened. apply same_bind; [apply same_foldM; intros; apply l_one_step|]. intros after.
  apply same_bind; [apply l_linear|]. intros q.
  apply same_bind; [apply same_map; intros; apply same_refl|]. intros. apply same_refl.
Qed.
Lemma l_mix p x S : same (mix (read_mixer kd z ts p) x S) (Recurrent.Mix (mixer_of_kind kd) D ts
  inputs p
  x S).
Proof.
  unfold read_mixer. destruct kd as [h s k v r|b n|n]; [apply l_heads| |];
    cbn [mix Claims.mixer_of_kind Recurrent.Mix Diagonal.diagonal Diagonal.complex_diagonal].
  - unfold Diagonal.real_mix. apply same_bind; [apply l_affine|]. intros y.
    apply same_bind; [apply same_map with (f' := if b then Recurrent.Tanh D else
      Recurrent.Sigmoid D); intros; destruct b; apply same_refl|].
    intros gates.
    apply same_bind; [apply l_linear|]. intros w. apply same_bind; [|intros; apply same_refl].
    apply same_map2. intros [a o] wi. apply l_plus_product.
  - unfold Diagonal.complex_mix. apply same_bind; [apply l_affine|]. intros y.
    apply same_bind; [apply l_affine|]. intros y'. apply same_bind.
    { apply same_map2. intros a b. apply same_bind; [apply same_refl|]. intros q.
      repeat apply same_det. apply same_refl. }
    intros g. apply same_bind.
    { apply same_map2. intros a b. apply same_det. apply same_bind; [apply same_refl|].
      intros re. apply same_bind; [apply same_refl|]. intros im. apply same_refl. }
    intros t.
    apply same_bind; [apply l_linear|]. intros w. apply same_bind; [apply l_linear|]. intros w'.
    eapply same_value; [apply l_added|]. eapply same_value; [apply l_added|]. apply same_refl.
Qed.
Lemma l_blocks l : forall x s, same (all_blocks (Recurrent.LooksBack z) (map (read_block kd z ts)
  l) x s)
  (Recurrent.blocks (mixer_of_kind kd) z ts D l x s).
Proof.
  induction l as [|i l IH]; intros x [|[[M u] v] s]; cbn [all_blocks map Recurrent.blocks];
    try apply same_refl.
  assert (one : same (one_block (Recurrent.LooksBack z) (read_block kd z ts i) x (M, u, v))
    (Recurrent.then_any (Recurrent.Mix (mixer_of_kind kd) D ts inputs (Recurrent.block i "mix.")
      (Recurrent.window z x u) M) (fun
      '(r, M') =>
     Recurrent.then_any (Recurrent.linear D r (Recurrent.matrix ts (Recurrent.block i "mix.out")
       [] (Recurrent.ReadOut (mixer_of_kind kd))
       (Recurrent.Width z))) (fun change =>
     Recurrent.then_any (match Recurrent.Hidden z with O => eq (Recurrent.added x change) | S _ =>
       Recurrent.then_any (Recurrent.affine D (Recurrent.window z (Recurrent.added x change) v)
         (Recurrent.matrix ts (Recurrent.block i "mlp.in")
         [Recurrent.block i "mlp.in_bias"] inputs (Recurrent.Hidden z))) (fun h =>
       Recurrent.then_any (Recurrent.linear D (map rectified h) (Recurrent.matrix ts
         (Recurrent.block i "mlp.out") [] (Recurrent.Hidden z)
         (Recurrent.Width z))) (fun c => eq (Recurrent.added (Recurrent.added x change) c))) end)
     (fun out => eq (out, (M', Recurrent.kept z x, Recurrent.kept z (Recurrent.added x
       change)))))))).
  { unfold one_block. apply same_bind; [apply l_mix|]. intros [r M'].
    apply same_bind; [apply l_linear|]. intros change.
    eapply same_value; [apply l_added|]. cbn [read_block Mlp]. destruct (Recurrent.Hidden z) as
      [|n] eqn:E.
    - intros a. split; [intros <-; now exists (Recurrent.added x change)|intros [o [<- <-]];
      reflexivity].
    - intros a. split.
      + intros [y [Y [h [H [c [C [o [O <-]]]]]]]]. apply l_affine in Y.
        apply (same_values1 _ rectified) in H; [|intros; apply same_refl]. subst h.
        apply l_linear in C. apply l_added in O. subst o. exists (Recurrent.added
          (Recurrent.added x change) c).
        split; [|reflexivity].
        exists y. split; [exact Y|]. exists c. split; [exact C|reflexivity].
      + intros [o [[y [Y [c [C <-]]]] <-]]. exists y. split; [now apply l_affine|].
        exists (map rectified y).
        split; [apply (same_values1 _ rectified); [intros; apply same_refl|reflexivity]|].
        exists c. split; [now apply l_linear|].
        eexists. split; [apply l_added; reflexivity|reflexivity]. }
  intros [o ss]. split.
  - intros [[y t] [H1 [[y' s'] [H2 [= <- <-]]]]]. apply one in H1 as [[r M'] [A [c [B [out [C [=
      <- <-]]]]]]].
    exists (r, M'). split; [exact A|]. exists c. split; [exact B|]. exists out.
    split; [destruct (Recurrent.Hidden z); exact C|]. exists (y', s'). split; [now apply
      IH|reflexivity].
  - intros [[r M'] [A [c [B [out [C [[y' s'] [E [= <- <-]]]]]]]]].
    exists (out, (M', Recurrent.kept z x, Recurrent.kept z (Recurrent.added x c))). split.
    + apply one. exists (r, M'). split; [exact A|]. exists c. split; [exact B|]. exists out.
      split; [destruct (Recurrent.Hidden z); exact C|reflexivity].
    + exists (y', s'). split; [now apply IH|reflexivity].
Qed.
Notation n := (network_of kd z ts).
Lemma l_step s a : same (step n s a) (Recurrent.step (mixer_of_kind kd) z ts D s a).
Proof.
  unfold step, Recurrent.step, letter_vector. cbn [network_of Embedding Two Rows Blocks Readout].
  apply same_bind.
  - eapply same_value with (v := Recurrent.one_hot z a); [|apply l_linear].
    apply same_values1. intros i. destruct (i =? a)%nat; apply same_refl.
  - intros x. apply same_bind; [apply l_blocks|]. intros [y s1].
    apply same_bind; [apply l_affine|]. intros. apply same_refl.
Qed.
Lemma map_const {A B} (b : B) (l : list A) : map (fun _ => b) l = repeat b (List.length l).
Proof. induction l; cbn; congruence. Qed.
Lemma l_zeros k : same (zeros k) (eq (repeat zero k)).
Proof. unfold zeros. replace (repeat zero k) with (map (fun _ : nat =>
  zero) (seq 0 k)) by (rewrite map_const, seq_length; reflexivity). apply same_values1. intros.
apply same_refl. Qed.
Lemma l_start s : start n s <-> s = let zs := Recurrent.kept z (repeat zero (Recurrent.Width z))
  in
  repeat (Recurrent.Empty (mixer_of_kind kd), zs, zs) (Recurrent.Layers z).
Proof.
  cbv zeta. unfold start. cbn [network_of Blocks Two Dim].
  assert (H : same (mapM (fun b => bind (empty (Mixer b)) (fun M => bind (zeros (Recurrent.Width
    z)) (fun
    zs => ret (M, for_next (Recurrent.LooksBack z) zs, for_next (Recurrent.LooksBack z) zs))))
    (map (read_block kd z ts) (seq 0 (Recurrent.Layers z))))
    (eq (map (fun _ => (Recurrent.Empty (mixer_of_kind kd), Recurrent.kept z (repeat zero
      (Recurrent.Width z)),
      Recurrent.kept z (repeat zero (Recurrent.Width z)))) (seq 0 (Recurrent.Layers z))))).
  { apply same_values. intros i. eapply same_value with (v := Recurrent.Empty (mixer_of_kind kd));
      [|eapply same_value; [apply l_zeros|apply same_refl]].
    cbn [read_block Mixer]. unfold read_mixer. destruct kd as [h s0 k v r|b k|k];
      cbn [empty Claims.mixer_of_kind Recurrent.Empty Delta.delta Diagonal.diagonal
        Diagonal.complex_diagonal].
    - unfold read_heads. replace (repeat (repeat (repeat zero k) v) h) with (map (fun _ : nat =>
        repeat (repeat zero k) v) (seq 0 h)) by (rewrite map_const, seq_length; reflexivity).
      apply same_values. intros j. cbn [Keys Values].
      replace (repeat (repeat zero k) v) with (map (fun _ : nat => repeat zero k) (seq 0 v)) by
        (rewrite map_const, seq_length; reflexivity).
      apply same_values1. intros. apply l_zeros.
    - eapply same_value; [apply l_zeros|apply same_refl].
    - eapply same_value; [apply l_zeros|apply same_refl]. }
  rewrite map_const, seq_length in H. split; intros X; [symmetry; now apply H|subst; now apply H].
Qed.
Lemma l_leads_to w s : leads_to dev n w s <-> Recurrent.leads_to (mixer_of_kind kd) z ts D w s.
Proof.
  split; intros H.
  - induction H as [s H|w s a y t H IH K]; [apply l_start in H; subst; constructor|].
    apply (Recurrent.by_letter _ _ _ _ w s a y t IH). now apply l_step.
  - induction H as [|w s a y t H IH K]; [constructor; now apply l_start|].
    apply (by_letter dev n w s a y t IH). now apply l_step.
Qed.
Theorem l_logits w a y : logits_after dev n w a y <-> Recurrent.logits_after (mixer_of_kind kd) z
  ts D w a
  y.
Proof. split; intros [s [t [H K]]]; exists s, t; (split; [now apply l_leads_to|now apply l_step]).
Qed.
End Layers.

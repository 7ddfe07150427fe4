(* A certificate is a list of whole numbers: arrays of arrays, each with its length before it.
   Here are the readers that make a claim and hints of it.  The claim that they make is the one
   that is printed and proved, so nothing need be believed of them. *)
From Coq Require Import ZArith List Bool.
From Krohn Require Import Claims Counting Counted Scan Contracting.
From Krohn Require Lstm.
Import ListNotations.
Local Open Scope Z_scope.

Definition read (A : Type) := list Z -> option (A * list Z).
Definition read_then {A B} (r : read A) (k : A -> read B) : read B := fun l =>
  match r l with Some (a, l) => k a l | None => None end.
Definition made {A} (a : A) : read A := fun l => Some (a, l).
Notation "x <- r ;; k" := (read_then r (fun x => k)) (at level 61, r at next level,
  right associativity).
Definition number : read Z := fun l => match l with z :: l => Some (z, l) | [] => None end.
(* no number that counts something is larger: a file cannot ask for more work than its size
  allows *)
Definition most : Z := 1048576.
Definition natural : read nat := fun l => match l with
  | z :: l => if (0 <=? z) && (z <? most) then Some (Z.to_nat z, l) else None
  | [] => None end.
Definition truth : read bool := fun l => match l with
  | 0 :: l => Some (false, l) | 1 :: l => Some (true, l) | _ => None end.
(* an array of n parts, which differ *)
Definition parts {A} (n : Z) (r : read A) : read A := fun l => match l with
  | z :: l => if z =? n then r l else None | [] => None end.
Fixpoint times {A} (n : nat) (r : read A) : read (list A) :=
  match n with
  | O => made []
  | S n => a <- r ;; l <- times n r ;; made (a :: l)
  end.
Definition many {A} (r : read A) : read (list A) := n <- natural ;; times n r.
Definition pair {A B} (r : read A) (s : read B) : read (A * B) :=
  parts 2 (a <- r ;; b <- s ;; made (a, b)).
Definition maybe {A} (r : read A) : read (option A) :=
  l <- many r ;; fun k => match l with
  | [] => Some (None, k) | [a] => Some (Some a, k) | _ => None end.
(* the first number of an array says which of several things follows *)
Definition either {A} (r s : read A) : read A := fun l => match l with
  | 0 :: l => r l | 1 :: l => s l | _ => None end.

(* ---------- claims ---------- *)
Definition read_automaton : read automaton := parts 3 (
  q <- natural ;; n <- natural ;; t <- many (many natural) ;;
  made {| First := q; Letters := n; Table := t |}).
Definition read_tsizes : read tsizes := parts 6 (
  d <- natural ;; a <- natural ;; p <- natural ;; n <- natural ;; c <- natural ;;
  l <- many (pair (many (pair natural natural)) (many natural)) ;;
  made {| TWidth := d; TLetters := a; TPadding := p; TPositions := n; TClasses := c;
          TLayerSizes := l |}).
Definition read_sizes : read sizes := parts 6 (
  a <- natural ;; d <- natural ;; b <- truth ;; l <- natural ;; h <- natural ;; c <- natural ;;
  made {| LettersRead := a; Width := d; LooksBack := b; Layers := l; Hidden := h; Classes := c
    |}).
Definition read_kind : read kind := fun l => match l with
  | 6 :: 0 :: l => (h <- natural ;; s <- natural ;; k <- natural ;; v <- natural ;; r <- truth ;;
                    made (Heads h s k v r)) l
  | 3 :: 1 :: l => (s <- truth ;; n <- natural ;; made (RealNumbers s n)) l
  | 2 :: 2 :: l => (n <- natural ;; made (ComplexNumbers n)) l
  | _ => None end.
Definition read_lsizes : read Lstm.lsizes := parts 5 (
  i <- natural ;; u <- natural ;; r <- natural ;; c <- natural ;; k <- natural ;;
  made {| Lstm.LInputs := i; Lstm.LUnits := u; Lstm.LRows := r; Lstm.LColumns := c;
          Lstm.LClasses := k |}).
Definition read_claim : read claim := fun l => match l with
  | 4 :: 0 :: l => (T <- natural ;; z <- read_tsizes ;; d <- read_automaton ;;
                    made (TransformerUpTo T z d)) l
  | 5 :: 1 :: l => (o <- truth ;; k <- read_kind ;; z <- read_sizes ;; d <- read_automaton ;;
                    made (RecurrentInOrder (if o then LeftToRight else AnyOrder) k z d)) l
  | 3 :: 2 :: l => (z <- read_lsizes ;; d <- read_automaton ;; made (TrainedLstm z d)) l
  | _ => None end.

(* ---------- hints ---------- *)
Definition read_channel : read channel := parts 2 (
  j <- natural ;; u <- number ;; made {| Number := j; UnitOf := u |}).
Definition read_count : read any_hint :=
  p <- many truth ;; c <- many read_channel ;; made (Counts {| Picks := p; Channels := c |}).
Definition read_copy : read copy_hint := parts 2 (
  w <- many truth ;; c <- many read_channel ;; made {| Writers := w; Copied := c |}).
Definition read_match : read any_hint :=
  f <- truth ;; c <- many read_copy ;; made (Matches f c).
Definition read_back : read any_hint :=
  d <- natural ;; c <- many read_channel ;; made (LookBack d c).
Definition read_head_hint : read any_hint := fun l => match l with
  | 3 :: 0 :: l => read_count l | 3 :: 1 :: l => read_match l | 3 :: 2 :: l => read_back l
  | _ => None end.
Definition read_rule : read rule := fun l => match l with
  | 1 :: 0 :: l => Some (Own, l) | 2 :: 1 :: l => (j <- natural ;; made (After j)) l
  | 2 :: 2 :: l => (j <- natural ;; made (Once j)) l | _ => None end.
Definition read_group : read group := parts 5 (
  w <- many number ;; m <- number ;; s <- truth ;; c <- many natural ;; n <- natural ;;
  made {| Weights := w; Modulus := m; Stops := s; Coarse := c; Coarses := n |}).
Definition read_layer_hint : read layer_hint := parts 15 (
  heads <- many read_head_hint ;; steps <- many (many number) ;;
  sets <- many (many (maybe number)) ;; rules <- many read_rule ;; places <- many natural ;;
  groups <- many read_group ;;
  cut <- natural ;; owner <- many natural ;; channels <- many natural ;;
  next <- many (many (pair (many number) natural)) ;; classes <- natural ;;
  keys <- many natural ;; key_classes <- natural ;; asks <- many natural ;;
  ask_classes <- natural ;;
  made {| HeadHints := heads; Steps := steps; Sets := sets; Rules := rules; PlaceOf := places;
          Groups := groups; Cut := cut; Owner := owner; OwnerY := channels; NextClass := next;
          NextClasses := classes; Keys := keys; KeyClasses := key_classes; Asks := asks;
          AskClasses := ask_classes |}).
Definition read_counting : read transformer_hints :=
  p <- natural ;; h <- many read_layer_hint ;; f <- many natural ;;
  k <- many (pair (many (many number)) natural) ;;
  made {| Period := p; LayerHints := h; Finals := f; Known := k |}.
Definition read_scan_hint : read scan_hint := parts 4 (
  c <- many natural ;; v <- many natural ;; b <- many natural ;; n <- many natural ;;
  made {| Cur := c; Value := v; Back := b; Next := n |}).
Definition read_scanning : read scan_hints :=
  r <- natural ;; a <- many (many natural) ;; q <- many (many natural) ;;
  l <- many read_scan_hint ;;
  made {| Registers := r; LetterRows := a; StateRows := q; LayerScans := l |}.
Definition read_region : read region := parts 4 (
  q <- natural ;; h <- many (pair number number) ;; c <- many (pair number number) ;;
  f <- many natural ;; made {| Stands := q; Shown := h; Held := c; Follows := f |}).

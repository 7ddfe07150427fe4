(* From stored bits to a network: the tensors of a safetensors file, the bytes of the file, its SHA-256, its layers. No proofs here. *)
From Coq Require Import ZArith List String Ascii Bool DecimalString.
From Krohn Require Import Network.
Import ListNotations.
Open Scope Z_scope.

(* ---------- 1. Tensors and the bytes of their file ---------- *)
(* The words of a tensor, row by row; Run n w stands for n times the word w. *)
Inductive run_of_words := Run (n : N) (w : Z).
Record tensor := { Name : string; Shape : list nat; Runs : list run_of_words }.
Definition words_of (t : tensor) : list word := flat_map (fun r => let '(Run n w) := r in repeat w (N.to_nat n)) (Runs t).
Definition size_of (t : tensor) : nat := fold_right Nat.mul 1%nat (Shape t).

Definition decimal (n : nat) : string := NilEmpty.string_of_uint (Nat.to_uint n).
Fixpoint commas (l : list string) : string :=
  match l with [] => "" | [s] => s | s :: l => s ++ "," ++ commas l end%string.
(* {"name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},...}, in the order of the data *)
Fixpoint entries (begin : N) (ts : list tensor) : list string :=
  match ts with
  | [] => []
  | t :: ts =>
      let stop := (begin + 4 * N.of_nat (size_of t))%N in
      let n z := NilEmpty.string_of_uint (N.to_uint z) in
      ("""" ++ Name t ++ """:{""dtype"":""F32"",""shape"":[" ++ commas (map decimal (Shape t)) ++
       "],""data_offsets"":[" ++ n begin ++ "," ++ n stop ++ "]}")%string :: entries stop ts
  end.
Definition text (s : string) : list Z := map (fun c => Z.of_N (N_of_ascii c)) (list_ascii_of_string s).
Definition spaces (n : nat) : list Z := repeat 32 ((8 - n mod 8) mod 8).
Fixpoint little_endian (bytes : nat) (z : Z) : list Z :=
  match bytes with O => [] | S k => z mod 256 :: little_endian k (z / 256) end.
Definition header (ts : list tensor) : list Z :=
  let h := text ("{" ++ commas (entries 0 ts) ++ "}")%string in h ++ spaces (List.length h).
Definition safetensors (ts : list tensor) : list Z :=
  little_endian 8 (Z.of_nat (List.length (header ts))) ++ header ts ++
  flat_map (fun t => flat_map (little_endian 4) (words_of t)) ts.

(* ---------- 2. SHA-256 (FIPS 180-4): compare with what sha256sum says of the file ---------- *)
Definition low (x : Z) : Z := Z.land x 4294967295.
Definition xor3 (a b c : Z) : Z := Z.lxor (Z.lxor a b) c.
(* The exclusive or of x turned to the right by i, j and k, in bits 0 to 31; low drops the others later. *)
Definition turns (i j k x : Z) : Z :=
  let xx := x + Z.shiftl x 32 in xor3 (Z.shiftr xx i) (Z.shiftr xx j) (Z.shiftr xx k).
Definition turns_and_shift (i j k x : Z) : Z :=
  let xx := x + Z.shiftl x 32 in xor3 (Z.shiftr xx i) (Z.shiftr xx j) (Z.shiftr x k).
Definition constants : list Z := [
0x428a2f98;0x71374491;0xb5c0fbcf;0xe9b5dba5;0x3956c25b;0x59f111f1;0x923f82a4;0xab1c5ed5;0xd807aa98;0x12835b01;0x243185be;
0x550c7dc3;0x72be5d74;0x80deb1fe;0x9bdc06a7;0xc19bf174;0xe49b69c1;0xefbe4786;0x0fc19dc6;0x240ca1cc;0x2de92c6f;0x4a7484aa;
0x5cb0a9dc;0x76f988da;0x983e5152;0xa831c66d;0xb00327c8;0xbf597fc7;0xc6e00bf3;0xd5a79147;0x06ca6351;0x14292967;0x27b70a85;
0x2e1b2138;0x4d2c6dfc;0x53380d13;0x650a7354;0x766a0abb;0x81c2c92e;0x92722c85;0xa2bfe8a1;0xa81a664b;0xc24b8b70;0xc76c51a3;
0xd192e819;0xd6990624;0xf40e3585;0x106aa070;0x19a4c116;0x1e376c08;0x2748774c;0x34b0bcb5;0x391c0cb3;0x4ed8aa4a;0x5b9cca4f;
0x682e6ff3;0x748f82ee;0x78a5636f;0x84c87814;0x8cc70208;0x90befffa;0xa4506ceb;0xbef9a3f7;0xc67178f2].
Definition first_hash : list Z := [
0x6a09e667;0xbb67ae85;0x3c6ef372;0xa54ff53a;0x510e527f;0x9b05688c;0x1f83d9ab;0x5be0cd19].
(* the schedule, last word first *)
Fixpoint schedule (n : nat) (w : list Z) : list Z :=
  match n with
  | O => w
  | S k =>
      let old i := nth i w 0 in
      let s0 := turns_and_shift 7 18 3 (old 14%nat) in let s1 := turns_and_shift 17 19 10 (old 1%nat) in
      schedule k (low (old 15%nat + s0 + old 6%nat + s1) :: w)
  end.
Definition round (s : list Z) (kw : Z * Z) : list Z :=
  match s with
  | [a; b; c; d; e; f; g; h] =>
      let t1 := h + turns 6 11 25 e + Z.lxor g (Z.land e (Z.lxor f g)) + fst kw + snd kw in
      let t2 := turns 2 13 22 a + Z.lxor (Z.land a b) (Z.land c (Z.lxor a b)) in
      [low (t1 + t2); a; b; c; low (d + t1); e; f; g]
  | _ => s
  end.
Definition one_chunk (hash w : list Z) : list Z :=
  let s := fold_left round (combine constants (rev (schedule 48 (rev w)))) hash in
  map (fun p => low (fst p + snd p)) (combine hash s).
Fixpoint big_endian_words (l : list Z) : list Z :=
  match l with a :: b :: c :: d :: l => ((a * 256 + b) * 256 + c) * 256 + d :: big_endian_words l | _ => [] end.
Fixpoint chunks (fuel : nat) (hash w : list Z) : list Z :=
  match fuel, w with S k, _ :: _ => chunks k (one_chunk hash (firstn 16 w)) (skipn 16 w) | _, _ => hash end.
Definition sha256 (bytes : list Z) : Z :=
  let n := List.length bytes in
  let filled := bytes ++ [128] ++ repeat 0 ((119 - n mod 64) mod 64) ++ rev (little_endian 8 (8 * Z.of_nat n)) in
  fold_left (fun s w => s * 4294967296 + w) (chunks (S n) first_hash (big_endian_words filled)) 0.

(* ---------- 3. The network of the tensors; every tensor must have its shape, and there must be no other ---------- *)
Inductive kind := DeltaProduct (heads steps keys values : nat) | RankOneSteps (heads steps keys values : nat)
  | Real (b : bend) (channels : nat) | ComplexNumbers (channels : nat).
Record sizes := { Kind : kind; LettersRead : nat; Width : nat; LooksBack : bool; Layers : nat; Hidden : nat; Classes : nat }.

Fixpoint pieces {A} (fuel n : nat) (l : list A) : list (list A) :=
  match fuel with O => [] | S k => firstn n l :: pieces k n (skipn n l) end.
Definition columns (cols : nat) (rows : list (list word)) : list (list word) :=
  fold_right (fun r t => map (fun p => fst p :: snd p) (combine r t)) (repeat [] cols) rows.
Definition same_shape (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.

Section Read.
Variables (z : sizes) (ts : list tensor).
Definition data (name : string) (shape : list nat) : option (list word) :=
  match find (fun t => String.eqb (Name t) name) ts with
  | Some t => let w := words_of t in
              if same_shape (Shape t) shape && Nat.eqb (List.length w) (size_of t) then Some w else None
  | None => None
  end.
Definition read_rows (name : string) (rows cols : nat) : option (list (list word)) :=
  w <- data name [rows; cols] ;; Some (pieces rows cols w).
Definition read_matrix (name : string) (rows cols : nat) : option (list (list word)) :=
  r <- read_rows name rows cols ;; Some (columns cols r).
(* a matrix with its bias as a last row *)
Definition read_affine (name bias : string) (rows cols : nat) : option (list (list word)) :=
  r <- read_rows name rows cols ;; b <- data bias [cols] ;; Some (columns cols (r ++ [b])).
Definition inputs : nat := ((if LooksBack z then 2 else 1) * Width z)%nat.
Fixpoint zip3 {A B C D} (f : A -> B -> C -> D) (a : list A) (b : list B) (c : list C) : list D :=
  match a, b, c with x :: a, y :: b, w :: c => f x y w :: zip3 f a b c | _, _, _ => [] end.

(* heads come one after the other, and in each the steps *)
Definition read_heads (p : string) (h s k v : nat) (rank_one : bool) : option (list (head (list word))) :=
  query <- read_matrix (p ++ "query") inputs (h * k) ;; key <- read_matrix (p ++ "key") inputs (h * s * k) ;;
  value <- read_matrix (p ++ "value") inputs (h * s * v) ;;
  let keys := pieces (h * s) k key in let values := pieces (h * s) v value in
  steps <- (if rank_one then
              rate <- read_affine (p ++ "rate.weight") (p ++ "rate.bias") inputs (h * s * k) ;;
              Some (zip3 RankOne keys values (pieces (h * s) k rate))
            else beta <- read_affine (p ++ "beta.weight") (p ++ "beta.bias") inputs (h * s) ;;
              Some (zip3 Householder keys values beta)) ;;
  gates <- (if rank_one then Some (repeat None h)
            else g <- read_affine (p ++ "gate.weight") (p ++ "gate.bias") inputs h ;; Some (map Some g)) ;;
  Some (zip3 (fun g st q => {| Gate := g; Steps := st; Query := q; Keys := k; Values := v |})
             gates (pieces h s steps) (pieces h k query)).
Definition read_mixer (p : string) : option (mixer (list word) * nat) :=
  match Kind z with
  | DeltaProduct h s k v => heads <- read_heads p h s k v false ;; Some (Delta heads, h * v)%nat
  | RankOneSteps h s k v => heads <- read_heads p h s k v true ;; Some (Delta heads, h * v)%nat
  | Real b n =>
      gate <- read_affine (p ++ "gate.weight") (p ++ "gate.bias") inputs n ;; write <- read_matrix (p ++ "write") inputs n ;;
      Some (Diagonal b gate write, n)
  | ComplexNumbers n =>
      gate <- read_affine (p ++ "gate.weight") (p ++ "gate.bias") inputs (2 * n) ;; write <- read_matrix (p ++ "write") inputs (2 * n) ;;
      Some (Complex (firstn n gate) (skipn n gate) (firstn n write) (skipn n write), 2 * n)%nat
  end.
Definition read_block (i : nat) : option (block (list word)) :=
  let p := ("h." ++ decimal i ++ ".")%string in
  '(m, wide) <- read_mixer (p ++ "mix.") ;; out <- read_matrix (p ++ "mix.out") wide (Width z) ;;
  mlp <- (match Hidden z with
          | O => Some None
          | n => i <- read_affine (p ++ "mlp.in") (p ++ "mlp.in_bias") inputs n ;; o <- read_matrix (p ++ "mlp.out") n (Width z) ;;
                 Some (Some (i, o))
          end) ;;
  Some {| Mixer := m; Out := out; Mlp := mlp |}.
Fixpoint read_blocks (i n : nat) : option (list (block (list word))) :=
  match n with O => Some [] | S k => b <- read_block i ;; bs <- read_blocks (S i) k ;; Some (b :: bs) end.
Definition tensors_for : nat :=
  let mixer := match Kind z with DeltaProduct _ _ _ _ => 8 | RankOneSteps _ _ _ _ => 6 | _ => 4 end%nat in
  (3 + Layers z * (mixer + match Hidden z with O => 0 | _ => 3 end))%nat.
Definition network_of : option (network (list word)) :=
  if Nat.eqb (List.length ts) tensors_for then
    embedding <- read_rows "wte" (LettersRead z) (Width z) ;; blocks <- read_blocks 0 (Layers z) ;;
    readout <- read_affine "head.weight" "head.bias" (Width z) (Classes z) ;;
    Some {| Two := LooksBack z; Dim := Width z; Embedding := embedding; Blocks := blocks; Readout := readout |}
  else None.
End Read.

(* ---------- 4. The claim about a file ---------- *)
Definition file_is_right (sums_of : list f32 -> list f32 -> f32 -> Prop) (hash : Z) (z : sizes) (ts : list tensor) (d : automaton) : Prop :=
  sha256 (safetensors ts) = hash /\
  exists n, network_of z ts = Some n /\ List.length (Embedding n) = Letters d /\ right_on_every_word sums_of n d.

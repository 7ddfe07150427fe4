(* To be read, or compared with FIPS 180-4: SHA-256.  The theorems at the end are the standard's
   own examples. *)
From Coq Require Import ZArith List String Ascii.
Import ListNotations.
Local Open Scope Z_scope.
Definition low (x : Z) : Z := Z.land x 4294967295.
Definition xor3 (a b c : Z) : Z := Z.lxor (Z.lxor a b) c.
(* the exclusive or of x turned to the right by i, j and k (or shifted by k), in bits 0 to 31; low
   drops the others later *)
Definition turns (i j k x : Z) : Z :=
  let xx := x + Z.shiftl x 32 in xor3 (Z.shiftr xx i) (Z.shiftr xx j) (Z.shiftr xx k).
Definition turns_and_shift (i j k x : Z) : Z :=
  let xx := x + Z.shiftl x 32 in xor3 (Z.shiftr xx i) (Z.shiftr xx j) (Z.shiftr x k).
Definition constants : list Z := [
  0x428a2f98;0x71374491;0xb5c0fbcf;0xe9b5dba5;0x3956c25b;0x59f111f1;0x923f82a4;0xab1c5ed5;
  0xd807aa98;0x12835b01;0x243185be;0x550c7dc3;0x72be5d74;0x80deb1fe;0x9bdc06a7;0xc19bf174;
  0xe49b69c1;0xefbe4786;0x0fc19dc6;0x240ca1cc;0x2de92c6f;0x4a7484aa;0x5cb0a9dc;0x76f988da;
  0x983e5152;0xa831c66d;0xb00327c8;0xbf597fc7;0xc6e00bf3;0xd5a79147;0x06ca6351;0x14292967;
  0x27b70a85;0x2e1b2138;0x4d2c6dfc;0x53380d13;0x650a7354;0x766a0abb;0x81c2c92e;0x92722c85;
  0xa2bfe8a1;0xa81a664b;0xc24b8b70;0xc76c51a3;0xd192e819;0xd6990624;0xf40e3585;0x106aa070;
  0x19a4c116;0x1e376c08;0x2748774c;0x34b0bcb5;0x391c0cb3;0x4ed8aa4a;0x5b9cca4f;0x682e6ff3;
  0x748f82ee;0x78a5636f;0x84c87814;0x8cc70208;0x90befffa;0xa4506ceb;0xbef9a3f7;0xc67178f2].
Definition first_hash : list Z :=
  [0x6a09e667;0xbb67ae85;0x3c6ef372;0xa54ff53a;0x510e527f;0x9b05688c;0x1f83d9ab;0x5be0cd19].
Fixpoint schedule (n : nat) (w : list Z) : list Z :=                    (* last word first *)
  match n with
  | O => w
  | S k => let s0 := turns_and_shift 7 18 3 (nth 14 w 0) in
           let s1 := turns_and_shift 17 19 10 (nth 1 w 0) in
           schedule k (low (nth 15 w 0 + s0 + nth 6 w 0 + s1) :: w)
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
  let mixed := fold_left round (combine constants (rev (schedule 48 (rev w)))) hash in
  map (fun p => low (fst p + snd p)) (combine hash mixed).
Fixpoint big_endian_words (l : list Z) : list Z :=
  match l with
  | a :: b :: c :: d :: l => ((a * 256 + b) * 256 + c) * 256 + d :: big_endian_words l
  | _ => []
  end.
Fixpoint chunks (fuel : nat) (hash w : list Z) : list Z :=
  match fuel, w with
  | S k, _ :: _ => chunks k (one_chunk hash (firstn 16 w)) (skipn 16 w)
  | _, _ => hash
  end.
Fixpoint little_endian (bytes : nat) (z : Z) : list Z :=
  match bytes with O => [] | S k => z mod 256 :: little_endian k (z / 256) end.
Definition sha256 (bytes : list Z) : Z :=
  let n := List.length bytes in
  let size := rev (little_endian 8 (8 * Z.of_nat n)) in
  let filled := bytes ++ [128] ++ repeat 0 ((119 - n mod 64) mod 64) ++ size in
  fold_left (fun s w => s * 4294967296 + w) (chunks (S n) first_hash (big_endian_words filled)) 0.
Definition text (s : string) : list Z :=
  map (fun c => Z.of_N (N_of_ascii c)) (list_ascii_of_string s).
Theorem short : sha256 (text "abc") =
  0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.
Proof. vm_compute. reflexivity. Qed.
Theorem long : sha256 (text "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") =
  0x248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1.
Proof. vm_compute. reflexivity. Qed.
